//! Which local servers to look for.

use super::{ModelChoice, Models};
use crate::discovery::Endpoint;
use crate::keys::Environment;
use crate::models_file::DiscoveryKind;

impl Models {
    /// The local server to ask before a name can be resolved: the named provider lists its models
    /// itself and has not been asked yet.
    pub fn wants_discovery(&self, choice: ModelChoice<'_>, environment: &Environment) -> Option<Endpoint> {
        let provider = choice.provider.or_else(|| choice.model.split_once('/').map(|(provider, _)| provider))?;
        if self.discovered.iter().any(|model| model.provider == provider) {
            return None;
        }
        if self.file.has_provider(provider) {
            return self.configured(provider, environment);
        }
        let kind = DiscoveryKind::ALL.into_iter().find(|kind| kind.as_str() == provider)?;
        Some(Endpoint::usual(kind, environment))
    }

    /// All local servers there may be: those of `models.json`, and every kind at its usual place
    /// unless the file has a provider of that name.
    pub fn endpoints(&self, environment: &Environment) -> Vec<Endpoint> {
        let configured = self.file.provider_ids().filter_map(|id| self.configured(id, environment));
        let usual = Endpoint::all_usual(environment);
        let usual = usual.into_iter().filter(|endpoint| !self.file.has_provider(&endpoint.provider));
        configured.chain(usual).collect()
    }

    fn configured(&self, provider: &str, environment: &Environment) -> Option<Endpoint> {
        let (kind, url) = self.file.discovery(provider)?;
        Some(match url {
            Some(url) => Endpoint::new(provider, kind, url),
            None => Endpoint { provider: provider.to_owned(), ..Endpoint::usual(kind, environment) },
        })
    }
}
