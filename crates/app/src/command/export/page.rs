//! The report as one page for a browser. Nothing in it is loaded from elsewhere, and nothing that a plan says is run.

use pulldown_cmark::{Event, Options, Parser, html};

const STYLE: &str = "body{max-width:50rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;\
    color-scheme:light dark}pre{overflow-x:auto;padding:.75rem;border:1px solid #8884;border-radius:6px}\
    blockquote{margin:0;padding-left:1rem;border-left:3px solid #8886}";

/// A page with this title that shows `markdown`.
pub(super) fn page(title: &str, markdown: &str) -> String {
    // Markup in a plan is shown as it is written: a page about a plan must not do what the plan says.
    let safe = Parser::new_ext(markdown, Options::ENABLE_TABLES).map(|event| {
        if let Event::Html(markup) | Event::InlineHtml(markup) = event { Event::Text(markup) } else { event }
    });
    let mut body = String::new();
    html::push_html(&mut body, safe);
    let mut head = String::new();
    html::push_html(&mut head, std::iter::once(Event::Text(title.to_owned().into())));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{head}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-07: a plan can't put anything into the page that a browser would run.
    #[test]
    fn markup_in_a_plan_is_shown_and_not_run() {
        let page =
            page("<script>1</script>", "# A\n\n<script>alert(1)</script>\n\nb <img src=x onerror=y> c\n");
        assert!(!page.contains("<script>") && !page.contains("<img"), "{page}");
        assert!(page.contains("&lt;script&gt;alert(1)"));
    }
}
