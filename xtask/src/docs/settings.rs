//! The table of settings, from the list that the binary prints.

use anyhow::{Context as _, Result};
use serde_json::Value;

/// One row per setting.
pub(crate) fn table(list: &Value) -> Result<String> {
    let mut rows = "| setting | value | default | set by | what it does |\n|---|---|---|---|---|\n".to_owned();
    for setting in list.as_array().context("the list of settings is no list")? {
        let text = |key: &str| {
            let value = setting[key].as_str().with_context(|| format!("a setting has no text `{key}`: {setting}"))?;
            Ok::<_, anyhow::Error>(value.replace('|', "\\|"))
        };
        let who = match text("scope")?.as_str() {
            "everywhere" => "user, project",
            "userOnly" => "user",
            other => anyhow::bail!("the scope `{other}` has no words here"),
        };
        let (name, value, default, help) = (text("name")?, text("type")?, text("default")?, text("help")?);
        rows.push_str(&format!("| `{name}` | {value} | {default} | {who} | {help} |\n"));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_setting_has_its_row() {
        let list = json!([
            {"name": "a.b", "type": "true or false", "default": "true", "scope": "everywhere", "help": "This | that."},
            {"name": "c", "type": "a text", "default": "nothing", "scope": "userOnly", "help": "Something."},
        ]);
        let expected = "| setting | value | default | set by | what it does |\n|---|---|---|---|---|\n\
                        | `a.b` | true or false | true | user, project | This \\| that. |\n\
                        | `c` | a text | nothing | user | Something. |\n";
        assert_eq!(table(&list).unwrap(), expected);
    }

    #[test]
    fn a_list_of_another_form_is_an_error() {
        assert!(table(&json!({})).is_err());
        assert!(table(&json!([{"name": "a"}])).is_err());
    }
}
