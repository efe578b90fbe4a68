//! The data of `planwright.verify/1`.

use planwright_engine::api::{Edit, Span, VerifyView, Warnings};

use super::sample::{Sample, folded};

#[test]
fn a_complaint_tells_everything_that_it_holds() {
    let data = VerifyView::of(&[Sample::new("\r\n").checked()], Warnings::Allowed);
    let data = serde_json::to_value(data).expect("it is plain data");
    insta::assert_snapshot!(folded(&data, 0), @r#"
    {
      "files":[
        {
          "path":"plans/größe 1.md",
          "ok":false,
          "counts":{"errors":1,"warnings":1,"fixable":1},
          "diagnostics":[
            {
              "code":"PW0203",
              "rule":"unmade-file",
              "severity":"error",
              "message":"step 1 `fix` reads a file that no earlier step creates",
              "span":{"start":89,"end":108,"line":9,"column":8,"end_line":9,"end_column":23},
              "label":"file not found",
              "related":[
                {
                  "span":{"start":168,"end":187,"line":17,"column":9,"end_line":17,"end_column":24},
                  "label":"step 2 `document` seems to create it"
                }
              ],
              "notes":[],
              "help":null,
              "fix":{"title":"make step 1 need step 2","edits":[{"start":70,"end":70,"text":"**needs:** document\r\n"}]}
            },
            {
              "code":"PW0307",
              "rule":"green-contract",
              "severity":"warning",
              "message":"the contract of step 1 `fix` passes before any work",
              "span":{"start":121,"end":125,"line":12,"column":1,"end_line":12,"end_column":5},
              "label":"",
              "related":[],
              "notes":["run on main@4f1c8aa, exit 0 in 0.01 s"],
              "help":"add a check that fails until the work is done",
              "fix":null
            }
          ]
        }
      ],
      "suggested":[],
      "red":[]
    }
    "#);
}

#[test]
fn denied_warnings_make_a_file_fail() {
    let mut sample = Sample::new("\n");
    sample.diagnostics.remove(0);
    let is_ok = |warnings| VerifyView::of(&[sample.checked()], warnings).files[0].ok;
    assert_eq!([is_ok(Warnings::Allowed), is_ok(Warnings::Denied)], [true, false]);
}

#[test]
fn the_edits_of_a_fix_can_be_applied_by_their_offsets() {
    let sample = Sample::new("\r\n");
    let data = VerifyView::of(&[sample.checked()], Warnings::Allowed);
    let fix = data.files[0].diagnostics[0].fix.as_ref().expect("the first complaint has a fix");
    let edits: Vec<Edit> =
        fix.edits.iter().map(|edit| Edit::replace(Span::new(edit.start, edit.end), &*edit.text)).collect();
    let edited = sample.source.edited(&edits);
    assert!(edited.text().contains("shell\r\n**needs:** document\r\n**reads:**"));
}
