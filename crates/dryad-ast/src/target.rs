//! What a search and a rewrite have in common: where to look, and how patterns are understood.

use crate::AstSettings;
use crate::invalid::{InvalidArguments, given};
use crate::language::Language;
use crate::pattern::{Reading, Strictness};
use crate::scope::Request;

/// Where to look, and how patterns are understood.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Target {
    /// The language, when it was named.
    pub language: Option<Language>,
    /// File, directory, glob or a list of them, as written.
    pub path: Option<String>,
    /// The additional filter.
    pub glob: Option<String>,
    /// The node kind to select.
    pub selector: Option<String>,
    /// How exactly patterns are matched.
    pub strictness: Strictness,
}

impl Target {
    /// Checks what was given; a text of white space alone counts as not given.
    ///
    /// # Errors
    ///
    /// When there is no language of that name.
    pub fn new(
        language: Option<String>,
        path: Option<String>,
        glob: Option<String>,
        selector: Option<String>,
    ) -> Result<Self, InvalidArguments> {
        Ok(Self {
            language: given(language).map(|name| name.parse()).transpose()?,
            path: given(path),
            glob: given(glob),
            selector: given(selector),
            strictness: Strictness::default(),
        })
    }

    pub(crate) fn request(&self, settings: &AstSettings) -> Request<'_> {
        Request {
            path: self.path.as_deref(),
            glob: self.glob.as_deref(),
            language: self.language,
            most_files: settings.max_files,
        }
    }

    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading { language: self.language, selector: self.selector.as_deref(), strictness: self.strictness }
    }
}
