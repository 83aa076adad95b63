//! The part of a document that is generated: between two comments that name it.

use anyhow::{Context as _, Result};

/// Whether the document has this region.
pub(crate) fn is_in(document: &str, name: &str) -> bool {
    document.contains(&opening(name))
}

/// The document with the region's text replaced by `body`.
pub(crate) fn replaced(document: &str, name: &str, body: &str) -> Result<String> {
    let (opening, closing) = (opening(name), format!("<!-- end: {name} -->"));
    let (before, rest) = document.split_once(&opening).with_context(|| format!("the line `{opening}` is missing"))?;
    let (_, after) = rest.split_once(&closing).with_context(|| format!("the line `{closing}` is missing"))?;
    Ok(format!("{before}{opening}\n\n{}\n\n{closing}{after}", body.trim_matches('\n')))
}

fn opening(name: &str) -> String {
    format!("<!-- generated: {name} -->")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "# A\n<!-- generated: x -->\nold\n<!-- end: x -->\ntail\n";

    #[test]
    fn only_the_region_changes_and_a_second_time_nothing() {
        let once = replaced(DOCUMENT, "x", "\nnew\n").unwrap();
        assert_eq!(once, "# A\n<!-- generated: x -->\n\nnew\n\n<!-- end: x -->\ntail\n");
        assert_eq!(replaced(&once, "x", "new").unwrap(), once);
    }

    #[test]
    fn a_missing_mark_is_named() {
        assert!(is_in(DOCUMENT, "x") && !is_in(DOCUMENT, "y"));
        let error = replaced(DOCUMENT, "y", "").unwrap_err();
        assert_eq!(error.to_string(), "the line `<!-- generated: y -->` is missing");
        let error = replaced("<!-- generated: x -->", "x", "").unwrap_err();
        assert_eq!(error.to_string(), "the line `<!-- end: x -->` is missing");
    }
}
