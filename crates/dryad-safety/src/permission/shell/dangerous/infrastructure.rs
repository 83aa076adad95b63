//! Databases, clusters and clouds.

use crate::permission::shell::{Script, SimpleCommand, Word};

/// Programs that send SQL to a database.
const CLIENTS: [&str; 14] = [
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "duckdb",
    "sqlcmd",
    "mycli",
    "pgcli",
    "clickhouse-client",
    "cockroach",
    "usql",
    "cqlsh",
    "sqlplus",
];

pub(super) fn find(command: &SimpleCommand) -> Option<String> {
    let program = command.program()?;
    let words = command.arguments();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.text.as_str()));
    let found = match program {
        "kubectl" | "oc" | "k3s" => {
            has(&["apply", "delete", "drain", "replace"]) && !has(&["--dry-run=client", "--dry-run=server"])
        }
        "terraform" | "tofu" | "terragrunt" => has(&["apply", "destroy"]),
        "pulumi" => has(&["up", "destroy"]),
        "helm" => has(&["uninstall", "delete"]),
        "docker" | "podman" => has(&["prune"]) || has(&["volume"]) && has(&["rm", "remove"]),
        "aws" => has(&["rb"]) || has(&["rm"]) && has(&["--recursive"]) || has(&["terminate-instances", "delete-stack"]),
        "gcloud" | "az" | "doctl" | "flyctl" | "heroku" => has(&["delete", "destroy", "apps:destroy"]),
        "gsutil" => has(&["rb"]) || has(&["rm"]) && has(&["-r"]),
        "gh" => has(&["delete"]),
        "dropdb" | "dropuser" => true,
        "redis-cli" => words.iter().any(|word| {
            let upper = word.text.to_ascii_uppercase();
            upper == "FLUSHALL" || upper == "FLUSHDB"
        }),
        _ => false,
    };
    found.then(|| format!("changes or deletes what runs elsewhere: {}", line(command)))
}

/// Whether tables are dropped or emptied by a client that the script starts.
pub(super) fn sql(script: &Script) -> Option<String> {
    let commands = || script.commands.iter().chain(&script.guesses);
    if !commands().any(|command| command.program().is_some_and(|program| CLIENTS.contains(&program))) {
        return None;
    }
    let texts = commands().flat_map(|command| {
        let redirected = command.redirections.iter().map(|redirection| &redirection.target);
        command.words.iter().chain(redirected)
    });
    texts.into_iter().any(drops).then(|| "drops or empties tables".to_owned())
}

fn drops(word: &Word) -> bool {
    let upper = word.text.to_ascii_uppercase();
    let words: Vec<&str> = upper
        .split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .filter(|part| !part.is_empty())
        .collect();
    words.contains(&"TRUNCATE")
        || words
            .windows(2)
            .any(|pair| matches!(pair, ["DROP", "TABLE" | "DATABASE" | "SCHEMA" | "COLLECTION" | "USER"]))
}

fn line(command: &SimpleCommand) -> String {
    command.words.iter().take(8).map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}
