//! Diagnostics as a compiler shows them: the line, the marked part, the reason and the fix. Chooses what to show;
//! `annotate-snippets` draws it.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use planwright_engine::api::{CheckCounts, CheckedFile, Diagnostic, Edit, Fix, Severity, Source, Span};

use super::window::{self, Window};
use crate::output::glyph::{Glyphs, Palette, Tone};
use crate::output::{clean, clean_line};

/// Returns every diagnostic with the lines that it is about, and the counts of each file that has any. Lines are cut to `width`.
pub fn human(checked: &[CheckedFile<'_>], palette: Palette, width: usize) -> String {
    let renderer = if palette.has_color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(width);
    let mut files = Vec::new();
    for file in checked.iter().filter(|file| !file.diagnostics.is_empty()) {
        let mut parts: Vec<String> = file
            .diagnostics
            .iter()
            .map(|diagnostic| complaint(file.source, diagnostic, &renderer, palette.glyphs))
            .collect();
        parts.push(footer(file, palette));
        files.push(parts.join("\n\n") + "\n");
    }
    files.join("\n")
}

/// Stands for a location while the renderer draws: it would count columns in what is shown, not in the file. No other text
/// holds this character, since `clean` spells it out.
const LOCATION: char = '\u{fdd0}';

/// Places that are further apart, in lines, are shown each on its own.
const PLACES_APART_MAX: usize = 4;

/// Fixes beyond these are named and not drawn.
const EDITS_SHOWN_MAX: usize = 8;
const EDIT_LINES_SHOWN_MAX: usize = 12;
const EDIT_BYTES_SHOWN_MAX: usize = 2000;

/// One place that a diagnostic means.
struct Place {
    span: Span,
    kind: AnnotationKind,
    label: String,
}

fn complaint(source: &Source, diagnostic: &Diagnostic, renderer: &Renderer, glyphs: Glyphs) -> String {
    let (level, id) = match diagnostic.severity {
        Severity::Error => (Level::ERROR, diagnostic.code),
        Severity::Warning => (Level::WARNING, diagnostic.code),
    };
    let mut group = Group::with_title(level.primary_title(clean_line(&diagnostic.message)).id(id));
    let mut locations = Vec::new();
    for places in places(source, diagnostic) {
        let spans: Vec<Span> = places.iter().map(|place| place.span).collect();
        let window = Window::new(source, &spans, glyphs);
        // The primary location comes first, even if an explanation is above it.
        let leader = places.iter().find(|place| place.kind == AnnotationKind::Primary).or(places.first());
        let start = leader.map_or(0, |place| place.span.start);
        locations.push(clean_line(&window::place(source, start)).into_owned());
        let annotations: Vec<Annotation<'_>> = places
            .iter()
            .map(|place| {
                let label = (!place.label.is_empty()).then(|| place.label.clone());
                place.kind.span(window.locate(place.span)).label(label)
            })
            .collect();
        let snippet = Snippet::source(window.text).line_start(window.line).path(LOCATION.to_string());
        group = group.element(snippet.annotations(annotations));
    }
    group = group.elements(diagnostic.notes.iter().map(|note| Level::NOTE.message(clean(note))));
    group = group.elements(diagnostic.help.iter().map(|help| Level::HELP.message(clean(help))));
    let mut report = vec![group];
    report.extend(diagnostic.fix.as_ref().map(|fix| repair(source, fix, glyphs)));
    with_locations(&renderer.render(&report), &locations)
}

/// The places of a diagnostic in groups that are shown together, the one with the fault first.
fn places(source: &Source, diagnostic: &Diagnostic) -> Vec<Vec<Place>> {
    let primary = std::iter::once((&diagnostic.primary, AnnotationKind::Primary));
    let secondary = diagnostic.secondary.iter().map(|label| (label, AnnotationKind::Context));
    let places = primary.chain(secondary).map(|(label, kind)| Place {
        span: window::trimmed(source, source.within(label.span)),
        kind,
        label: clean_line(&label.text).into_owned(),
    });
    let mut groups = window::groups(source, places.collect(), PLACES_APART_MAX, |place| place.span);
    let first =
        groups.iter().position(|group| group.iter().any(|place| place.kind == AnnotationKind::Primary));
    groups[..=first.unwrap_or(0)].rotate_right(1);
    groups
}

fn repair<'a>(source: &Source, fix: &'a Fix, glyphs: Glyphs) -> Group<'a> {
    let group = Group::with_title(Level::HELP.secondary_title(clean_line(&fix.title)));
    if fix.edits.len() > EDITS_SHOWN_MAX || !fix.edits.iter().all(|edit| is_short(source, edit)) {
        return group;
    }
    let edits: Vec<&Edit> = fix.edits.iter().collect();
    let span = |edit: &&Edit| source.within(edit.span);
    // The renderer shows a removed line only if no other edit is next to it, so only edits on one line are grouped.
    let meant = |edit: &&Edit| window::trimmed(source, span(edit));
    group.elements(window::groups(source, edits, 0, meant).into_iter().map(|edits| {
        let spans: Vec<Span> = edits.iter().map(span).collect();
        let window = Window::new(source, &spans, glyphs);
        let patches: Vec<Patch<'_>> = edits
            .iter()
            .zip(&spans)
            .map(|(edit, span)| Patch::new(window.locate(*span), clean(&edit.text)))
            .collect();
        let snippet = Snippet::source(window.text).line_start(window.line);
        // In a directory, a line number alone is ambiguous.
        let file = spans.first().map(|span| source.part_at(span.start)).filter(|part| !part.path.is_empty());
        let path = file.map(|part| clean_line(&source.name_at(part.span.start)).into_owned());
        snippet.path(path).patches(patches)
    }))
}

fn is_short(source: &Source, edit: &Edit) -> bool {
    let [first, last] = window::lines(source, source.within(edit.span));
    last - first <= EDIT_LINES_SHOWN_MAX
        && edit.text.lines().count() <= EDIT_LINES_SHOWN_MAX
        && edit.text.len() <= EDIT_BYTES_SHOWN_MAX
}

/// Puts the true locations where the renderer wrote [`LOCATION`] and its own line and column.
fn with_locations(drawn: &str, locations: &[String]) -> String {
    let mut parts = drawn.split(LOCATION);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (part, location) in parts.zip(locations) {
        text.push_str(location);
        text.push_str(
            part.trim_start_matches(|character: char| character.is_ascii_digit() || character == ':'),
        );
    }
    text
}

/// "plans/x.md: 2 errors, 1 warning; 1 fixable (planwright verify --fix)".
fn footer(file: &CheckedFile<'_>, palette: Palette) -> String {
    let counts = file.counts();
    let CheckCounts { errors, fixable, .. } = counts;
    let tone = if errors > 0 { Tone::Bad } else { Tone::Attention };
    let repairs = match fixable {
        0 => String::new(),
        1 => "; 1 fixable (planwright verify --fix)".to_owned(),
        _ => format!("; {fixable} fixable (planwright verify --fix)"),
    };
    format!("{}: {}{repairs}", clean_line(file.source.name()), palette.paint(tone, &counts.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample::{Sample, complaint};
    use super::*;

    const UNICODE: Palette = Palette { has_color: false, glyphs: Glyphs::Unicode };

    /// The diagnostics about the parts of `text` in ⟦ and ⟧, which are taken out of it.
    fn shown(text: &str) -> String {
        let mut plain = String::new();
        let mut diagnostics = Vec::new();
        for (index, part) in text.split('⟦').enumerate() {
            let start = plain.len();
            match part.split_once('⟧') {
                Some((meant, rest)) if index > 0 => {
                    plain.push_str(meant);
                    let span = Span::new(start, plain.len());
                    diagnostics.push(complaint("PW0101", "sample", Severity::Warning, span).label("here"));
                    plain.push_str(rest);
                }
                Some(_) | None => plain.push_str(part),
            }
        }
        let source = Source::new("a.md", plain);
        human(&[CheckedFile { source: &source, diagnostics: &diagnostics }], UNICODE, 80)
    }

    #[test]
    fn a_complaint_shows_its_places_its_reasons_and_its_repair() {
        let unix = human(&[Sample::new("\n").checked()], UNICODE, 100);
        insta::assert_snapshot!(unix, @"
        error[PW0203]: step 1 `fix` reads a file that no earlier step creates
          --> plans/größe 1.md:9:8
           |
         9 | - file:docs/✅-größe.md
           |        ^^^^^^^^^^^^^^^^ file not found
           |
          ::: plans/größe 1.md:17:9
           |
        17 | test -s docs/✅-größe.md
           |         ---------------- step 2 `document` seems to create it
           |
        help: make step 1 need step 2
           |
         8 + **needs:** document
           |

        warning[PW0307]: the contract of step 1 `fix` passes before any work
          --> plans/größe 1.md:12:1
           |
        12 | true
           | ^^^^
           |
           = note: run on main@4f1c8aa, exit 0 in 0.01 s
           = help: add a check that fails until the work is done

        plans/größe 1.md: 1 error, 1 warning; 1 fixable (planwright verify --fix)
        ");
        assert_eq!(human(&[Sample::new("\r\n").checked()], UNICODE, 100), unix, "CRLF changes nothing");
    }

    #[test]
    fn colour_only_adds_to_the_plain_text() {
        let sample = Sample::new("\n");
        let colored = human(&[sample.checked()], Palette { has_color: true, glyphs: Glyphs::Unicode }, 100);
        assert!(colored.contains("\u{1b}["));
        let mut plain = String::new();
        for (index, part) in colored.split("\u{1b}[").enumerate() {
            plain.push_str(if index == 0 { part } else { part.split_once('m').expect("it is a style").1 });
        }
        assert_eq!(plain, human(&[sample.checked()], UNICODE, 100));
    }

    #[test]
    fn a_file_without_complaints_says_nothing() {
        assert_eq!(
            human(&[CheckedFile { source: &Source::new("a.md", "x"), diagnostics: &[] }], UNICODE, 80),
            ""
        );
    }

    #[test]
    fn hidden_characters_are_spelled_out_under_the_right_underline() {
        insta::assert_snapshot!(shown("\u{feff}t\tñ ⟦\u{1b}[2J\u{202e}✅⟧ x\u{200b}\r\n"), @r"
        warning[PW0101]: message
         --> a.md:1:6
          |
        1 | t    ñ \u{1b}[2J\u{202e}✅ x\u{200b}
          |        ^^^^^^^^^^^^^^^^^^^ here

        a.md: 1 warning
        ");
    }

    #[test]
    fn empty_places_and_the_end_of_the_file_are_shown() {
        insta::assert_snapshot!(shown("⟦⟧"), @"
        warning[PW0101]: message
         --> a.md:1:1
          |
        1 |
          | ^ here

        a.md: 1 warning
        ");
        insta::assert_snapshot!(shown("a\nb⟦⟧\nc\n⟦⟧"), @"
        warning[PW0101]: message
         --> a.md:2:2
          |
        2 | b
          |  ^ here

        warning[PW0101]: message
         --> a.md:4:1
          |
        4 |
          | ^ here

        a.md: 2 warnings
        ");
    }

    #[test]
    fn a_line_with_its_break_is_one_line_and_a_long_place_is_folded() {
        insta::assert_snapshot!(shown("a\n⟦b\r\n⟧c\n"), @"
        warning[PW0101]: message
         --> a.md:2:1
          |
        2 | b
          | ^ here

        a.md: 1 warning
        ");
        let middle: String = "line\n".repeat(38);
        insta::assert_snapshot!(shown(&format!("x ⟦first\n{middle}last⟧ y\n")), @"
        warning[PW0101]: message
          --> a.md:1:3
           |
         1 |   x first
           |  ___^
         2 | | line
         3 | | line
         4 | | line
        ...  |
        39 | | line
        40 | | last y
           | |____^ here

        a.md: 1 warning
        ");
    }

    #[test]
    fn a_huge_line_is_cut_and_keeps_its_true_column() {
        let half = "ab ".repeat(200_000);
        insta::assert_snapshot!(shown(&format!("{half}⟦HERE⟧{half}")), @"
        warning[PW0101]: message
         --> a.md:1:600001
          |
        1 | ...ab ab ab ab ab ab ab ab ab ab HEREab ab ab ab ab ab ab ab ab ab ab ab ...
          |                                  ^^^^ here

        a.md: 1 warning
        ");
    }

    #[test]
    fn replacements_deletions_and_additions_are_drawn_as_a_difference() {
        let source =
            Source::new("a.md", "on_fail: retry(99)\r\nb\r\nc\r\nd\r\ne\r\nf\r\nstatus: done\r\nlast");
        let text = source.text();
        let at = |needle: &str| text.find(needle).expect("the text holds it");
        let edits = vec![
            Edit::replace(Span::new(at("99"), at("99") + 2), "5"),
            Edit::delete(Span::new(at("status"), at("last"))),
            Edit::insert(text.len(), "\r\nmore\u{1b}\r\n"),
        ];
        let diagnostic = complaint("PW0401", "sample", Severity::Error, Span::new(at("99"), at("99") + 2));
        let diagnostic = diagnostic.fix("clean up", edits);
        insta::assert_snapshot!(human(&[CheckedFile { source: &source, diagnostics: &[diagnostic] }], UNICODE, 80), @r"
        error[PW0401]: message
         --> a.md:1:16
          |
        1 | on_fail: retry(99)
          |                ^^
          |
        help: clean up
          |
        1 - on_fail: retry(99)
        1 + on_fail: retry(5)
          |
        7 - status: done
          |
        8 ~ last
        9 + more\u{1b}
          |

        a.md: 1 error; 1 fixable (planwright verify --fix)
        ");
    }

    #[test]
    fn a_repair_too_large_to_draw_is_named() {
        let source = Source::new("a.md", "x\n".repeat(100));
        let whole = Span::new(0, source.text().len());
        let diagnostic = complaint("PW0401", "sample", Severity::Error, Span::at(0))
            .fix("rewrite it all", vec![Edit::replace(whole, "y\n".repeat(100))]);
        let text = human(&[CheckedFile { source: &source, diagnostics: &[diagnostic] }], UNICODE, 80);
        assert!(text.contains("help: rewrite it all\n\n"), "{text}");
    }

    proptest! {
        #[test]
        fn no_place_in_any_text_breaks_the_drawing(
            text in proptest::collection::vec(
                proptest::sample::select(vec!["a", " ", "\t", "\n", "\r", "\r\n", "ñ", "✅", "\u{feff}", "\u{202e}", "\u{1b}", "\u{200d}", "e\u{301}", "long words here "]),
                0..60,
            ),
            places in proptest::collection::vec((0usize..200, 0usize..60), 1..5),
            edits in proptest::collection::vec((0usize..200, 0usize..20, "[a\n\r\t ✅]{0,6}"), 0..3),
            width in 1usize..120,
        ) {
            let source = Source::new("a.md", text.concat());
            let length = source.text().len();
            let span = |start: usize, len: usize| {
                let start = start.min(length);
                Span::new(start, (start + len).min(length))
            };
            let mut diagnostic = complaint("PW0101", "sample", Severity::Error, span(places[0].0, places[0].1)).label("here");
            for &(start, len) in &places[1..] {
                diagnostic = diagnostic.also(span(start, len), "there");
            }
            let mut done = 0;
            let mut apart = Vec::new();
            for (skip, len, text) in edits {
                let span = source.within(span(done + skip % 40, len));
                if span.start >= done {
                    done = span.end;
                    apart.push(Edit::replace(span, text));
                }
            }
            if !apart.is_empty() {
                diagnostic = diagnostic.fix("repair it", apart);
            }
            let file = CheckedFile { source: &source, diagnostics: &[diagnostic] };
            let text = human(&[file], UNICODE, width);
            prop_assert!(text.contains("error[PW0101]: message\n"));
            prop_assert!(!text.contains('\u{1b}') && !text.contains(LOCATION), "{}", text);
        }
    }
}
