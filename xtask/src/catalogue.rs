//! Rebuilds the model catalogue of `dryad-provider` from a published model list.
//!
//! Facts (ids, windows, prices, what a model can do) come from an unpacked npm package; the form is
//! our own and small. Which providers are listed is decided by `data/providers.json`, which people
//! edit; `data/models.json` is only ever written by this.

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Upper bound of the written file: it is part of the binary.
const MAX_BYTES: usize = 120 * 1024;

/// OpenRouter lists hundreds of models; these families are kept, and of each the plain ids only.
const OPENROUTER_FAMILIES: [&str; 14] = [
    "anthropic/claude-",
    "openai/gpt-5.6",
    "openai/gpt-6",
    "openai/gpt-oss",
    "google/gemini-3.8",
    "google/gemini-4",
    "deepseek/deepseek-v4",
    "moonshotai/kimi-k2.",
    "moonshotai/kimi-k3",
    "qwen/qwen3.8",
    "qwen/qwen3-coder-next",
    "x-ai/grok-4.",
    "z-ai/glm-5.3",
    "openrouter/auto",
];

/// The most models kept of OpenRouter.
const OPENROUTER_LIMIT: usize = 60;

/// Levels in rising order, as both sides name them.
const LEVELS: [&str; 5] = ["minimal", "low", "medium", "high", "xhigh"];

/// Reads the package unpacked in `package_dir` and writes the catalogue.
pub(crate) fn run(package_dir: &Path) -> Result<()> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/dryad-provider/data");
    let providers = read_json(&data.join("providers.json"))?;
    let package = read_json(&package_dir.join("package.json"))?;
    let mut models = Map::new();
    for provider in providers.as_array().context("providers.json is no list")? {
        let id = text(provider, "id")?;
        let listed = read_json(&package_dir.join(format!("dist/providers/data/{id}.json")))?;
        models.insert(id.to_owned(), Value::from(provider_models(provider, &listed)?));
    }
    let source = json!({"package": text(&package, "name")?, "version": text(&package, "version")?});
    let rendered = render(&source, &models)?;
    if rendered.len() > MAX_BYTES {
        bail!("the catalogue has {} bytes, {MAX_BYTES} are allowed; list fewer models", rendered.len());
    }
    let target = data.join("models.json");
    write(&target, &rendered).with_context(|| format!("cannot write {}", target.display()))
}

#[expect(clippy::disallowed_methods, reason = "the generator's one output is a file of the repository")]
fn write(target: &Path, text: &str) -> std::io::Result<()> {
    std::fs::write(target, text)
}

/// One line per model, so that a change of the list reads well as a diff.
fn render(source: &Value, models: &Map<String, Value>) -> Result<String> {
    let mut text = format!("{{\"source\":{source},\n\"models\":{{\n");
    for (index, (provider, rows)) in models.iter().enumerate() {
        let rows: Vec<String> = rows.as_array().context("rows are a list")?.iter().map(Value::to_string).collect();
        let separator = if index == 0 { "" } else { ",\n" };
        text.push_str(&format!("{separator}{}:[\n{}\n]", Value::from(provider.as_str()), rows.join(",\n")));
    }
    text.push_str("\n}}\n");
    Ok(text)
}

/// The models of one provider that one of our APIs can speak to, sorted by id.
fn provider_models(provider: &Value, listed: &Value) -> Result<Vec<Value>> {
    let id = text(provider, "id")?;
    let mut rows = Vec::new();
    for (api, models) in listed.as_object().context("a list of models by api")? {
        for model in models.as_object().context("models by key")?.values() {
            let speaks = spoken(id, api) == text(provider, "api")?;
            if model["type"] == "chat" && speaks && wanted(id, text(model, "id")?) {
                rows.push(row(provider, model)?);
            }
        }
    }
    rows.sort_by(|one, other| one["id"].as_str().cmp(&other["id"].as_str()));
    if id == "openrouter" && rows.len() > OPENROUTER_LIMIT {
        bail!("{} models of OpenRouter are too many; keep fewer families", rows.len());
    }
    Ok(rows)
}

/// The API we use for a model listed under `api`.
fn spoken<'a>(provider: &str, api: &'a str) -> &'a str {
    match (provider, api) {
        // Both also answer to Chat Completions, which takes the provider's ordinary key.
        ("openrouter", "anthropic-messages") | ("mistral", "mistral-conversations") => "openai-completions",
        _ => api,
    }
}

fn wanted(provider: &str, model: &str) -> bool {
    let plain = !model.contains(':') && !model.ends_with("-customtools") && !is_openai_pro(model);
    let family = OPENROUTER_FAMILIES.iter().any(|family| model.starts_with(family));
    let unsuited = ["deep-research", "computer-use", "robotics", "safeguard", "audio"];
    !unsuited.iter().any(|word| model.contains(word)) && (provider != "openrouter" || (plain && family))
}

fn is_openai_pro(model: &str) -> bool {
    model.starts_with("openai/") && model.ends_with("-pro")
}

fn row(provider: &Value, model: &Value) -> Result<Value> {
    let cost = |key: &str| model["cost"][key].as_f64().unwrap_or(0.0);
    let mut row = Map::new();
    row.insert("id".into(), model["id"].clone());
    row.insert("name".into(), model["name"].clone());
    row.insert("window".into(), model["contextWindow"].clone());
    row.insert("max".into(), model["maxTokens"].clone());
    let prices = ["input", "output", "cacheRead", "cacheWrite"].map(|key| number(cost(key)));
    row.insert("cost".into(), Value::from(prices.to_vec()));
    if model["input"].as_array().is_some_and(|input| input.contains(&Value::from("image"))) {
        row.insert("vision".into(), true.into());
    }
    if model["reasoning"] == true && text(provider, "id")? != "mistral" {
        add_thinking(provider, model, &mut row)?;
    }
    Ok(Value::Object(row))
}

/// Whole prices without a fraction, others rounded to what billing can tell apart.
fn number(value: f64) -> Value {
    let rounded = (value * 1e6).round() / 1e6;
    if rounded.fract() == 0.0 { Value::from(rounded as u64) } else { Value::from(rounded) }
}

/// `thinking`: mode, lowest and highest level; `noOff` where thinking cannot be switched off;
/// `compat` where the model departs from its provider.
fn add_thinking(provider: &Value, model: &Value, row: &mut Map<String, Value>) -> Result<()> {
    let map = &model["thinkingLevelMap"];
    let known = |level: &str| match map.get(level) {
        Some(word) => word.is_string(),
        None => level != "xhigh",
    };
    let highest = LEVELS.iter().rposition(|level| known(level)).unwrap_or(3);
    let lowest = (0..=highest).rev().take_while(|&index| known(LEVELS[index])).last().unwrap_or(highest);
    row.insert("thinking".into(), json!([mode(provider, model)?, LEVELS[lowest], LEVELS[highest]]));
    // Gemini 2.5 Pro always thinks, although the list does not say so.
    let never_off = map.get("off").is_some_and(Value::is_null) || model["id"] == "gemini-2.5-pro";
    if never_off {
        row.insert("noOff".into(), true.into());
    }
    let mut compat = Map::new();
    for key in ["supportsReasoningEffort", "thinkingFormat"] {
        let departs = model["compat"].get(key).filter(|value| provider["compat"].get(key) != Some(*value));
        // Formats that only the package knows are left to the provider's default.
        let understood = departs.filter(|value| value.is_boolean() || *value == "openai" || *value == "deepseek");
        compat.extend(understood.map(|value| (key.to_owned(), value.clone())));
    }
    if !compat.is_empty() {
        row.insert("compat".into(), compat.into());
    }
    Ok(())
}

fn mode(provider: &Value, model: &Value) -> Result<&'static str> {
    Ok(match text(provider, "api")? {
        "anthropic-messages" if model["compat"]["forceAdaptiveThinking"] == true => "anthropic-adaptive",
        "anthropic-messages" => "budget",
        "google-generative-ai" if model["thinkingLevelMap"].is_object() => "google-level",
        "google-generative-ai" => "budget",
        _ => "effort",
    })
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key].as_str().with_context(|| format!("`{key}` is missing or no text"))
}

fn read_json(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("cannot parse {}", path.display()))
}
