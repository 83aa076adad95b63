//! The data files are whole, and reading them is as lazy as it says.

use super::*;
use std::collections::HashSet;

#[test]
fn every_provider_has_rows_that_parse() {
    let table: Vec<CatalogueProvider> = serde_json::from_str(PROVIDERS).unwrap();
    let index: Index<'_> = serde_json::from_str(MODELS).unwrap();
    assert_eq!(index.models.len(), table.len());
    for provider in &table {
        let rows = index.models[provider.id.as_str()].get();
        let rows: Vec<Row> = serde_json::from_str(rows).unwrap_or_else(|error| panic!("{}: {error}", provider.id));
        assert!(!rows.is_empty(), "{}", provider.id);
        assert_eq!(models(&provider.id).len(), rows.len());
        assert!(provider.base_url.starts_with("https://") && !provider.base_url.ends_with('/'));
        assert!(!provider.env.is_empty());
        assert!(rows.iter().any(|row| row.id == provider.default), "{} has no {}", provider.id, provider.default);
    }
}

#[test]
fn ids_are_unique_and_limits_sensible() {
    for provider in providers() {
        let mut seen = HashSet::new();
        for model in models(&provider.id) {
            assert!(seen.insert(model.id.clone()), "{} twice", model.full_name());
            assert!(model.max_tokens > 0 && model.context_window > 0, "{}", model.full_name());
            if let Some(range) = &model.thinking {
                assert!(range.min_level > ThinkingLevel::Off && range.min_level <= range.max_level);
            }
        }
    }
}

#[test]
fn a_row_becomes_a_whole_model() {
    let model = models("openai").into_iter().find(|model| model.id == "o3").unwrap();
    assert_eq!(model.full_name(), "openai/o3");
    assert_eq!(model.api, Api::OpenAiResponses);
    assert_eq!(model.base_url, "https://api.openai.com/v1");
    assert!(model.has_vision() && model.reasoning);
    assert_eq!(model.compat.supports_thinking_off, Some(false));
    let range = model.thinking.unwrap();
    assert_eq!((range.min_level, range.max_level), (ThinkingLevel::Low, ThinkingLevel::High));
    assert_eq!(model.cost.input, 2.0);
}

#[test]
fn the_data_stays_small_and_names_its_source() {
    assert!(MODELS.len() <= 120 * 1024, "{} bytes", MODELS.len());
    assert_eq!(source().package, "@earendil-works/pi-ai");
    assert!(models("nobody").is_empty());
}
