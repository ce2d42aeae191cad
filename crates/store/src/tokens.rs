//! Records of access tokens.

use manyhands_core::{Pattern, Role, Timestamp, TokenId};
use schemars::JsonSchema;
use serde::Serialize;
use subtle::ConstantTimeEq as _;

use crate::error::StoreError;
use crate::hex;
use crate::sql::{Row, Sql, Statement};
use crate::token_text::TokenHash;

/// An access token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenRecord {
    /// Its id.
    pub id: TokenId,
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// The tools it may call.
    pub tools: Vec<Pattern>,
    /// The agents it may act for and talk to. The owner's tokens act for all.
    pub agents: Vec<Pattern>,
    /// The hash of its text.
    #[serde(skip)]
    pub hash: TokenHash,
    /// When it was created.
    pub created: Timestamp,
    /// When it expires.
    pub expires: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
    /// When it was last used; uses are recorded with a delay.
    pub last_used: Option<Timestamp>,
    /// Whether it is the session of a browser. Logging out revokes it.
    pub browser: bool,
}

impl TokenRecord {
    /// Whether `hash` is the hash of this token, compared in constant time.
    pub fn has_hash(&self, hash: &TokenHash) -> bool {
        // In constant time: the comparison must not reveal how much of a guessed hash was right.
        self.hash.ct_eq(hash).into()
    }

    /// Whether the token is valid at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|end| now < end)
    }
}

/// The token records.
#[derive(Debug, Clone)]
pub struct Tokens {
    sql: Sql,
}

const COLUMNS: &str = "SELECT id, name, role, tools, agents, hash, created, expires, revoked, last_used, browser FROM token";

impl Tokens {
    pub(crate) fn new(sql: Sql) -> Self {
        Self { sql }
    }

    /// Inserts a record.
    pub async fn insert(&self, token: &TokenRecord) -> Result<(), StoreError> {
        let tools = serde_json::to_string(&token.tools)
            .map_err(|error| StoreError::invalid(format!("the tool patterns: {error}")))?;
        let agents = serde_json::to_string(&token.agents)
            .map_err(|error| StoreError::invalid(format!("the agent patterns: {error}")))?;
        let insert = Statement::new(
            "INSERT INTO token (id, name, role, tools, hash, created, expires, revoked, last_used, agents, browser)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        )
        .bind(token.id.to_string())
        .bind(token.name.as_str())
        .bind(token.role.as_str())
        .bind(tools)
        .bind(hex::encode(&token.hash))
        .bind(token.created)
        .bind(token.expires)
        .bind(token.revoked)
        .bind(token.last_used)
        .bind(agents)
        .bind(i64::from(token.browser));
        match self.sql.run(insert).await {
            Err(StoreError::Exists { .. }) => Err(StoreError::Exists {
                what: format!("token {}", token.id),
            }),
            other => other.map(drop),
        }
    }

    /// All tokens, including revoked ones, oldest first.
    pub async fn list(&self) -> Result<Vec<TokenRecord>, StoreError> {
        let select = Statement::new(COLUMNS).then(" ORDER BY created, id");
        self.sql.all(select).await?.iter().map(record).collect()
    }

    /// One token.
    pub async fn get(&self, id: TokenId) -> Result<Option<TokenRecord>, StoreError> {
        let select = Statement::new(COLUMNS).then_with(" WHERE id = ", id.to_string());
        self.sql.one(select).await?.as_ref().map(record).transpose()
    }

    /// Revokes a token. Revoking it again keeps the first time.
    pub async fn revoke(&self, id: TokenId, now: Timestamp) -> Result<(), StoreError> {
        let update =
            Statement::new("UPDATE token SET revoked = COALESCE(revoked, $1) WHERE id = $2")
                .bind(now)
                .bind(id.to_string());
        // `COALESCE`: revoking twice keeps the first time, which is the one that matters later.
        match self.sql.run(update).await? {
            0 => Err(StoreError::not_found(format!("token {id}"))),
            _ => Ok(()),
        }
    }

    /// Records when tokens were last used, many at once.
    pub async fn touch(&self, used: &[(TokenId, Timestamp)]) -> Result<(), StoreError> {
        if used.is_empty() {
            return Ok(());
        }
        // Uses are collected in memory and written together: an fsync for every request would dominate it.
        let mut tx = self.sql.begin().await?;
        for (id, at) in used {
            let update = Statement::new(
                "UPDATE token SET last_used = $1
                 WHERE id = $2 AND (last_used IS NULL OR last_used < $1)",
            )
            .bind(*at)
            .bind(id.to_string());
            tx.run(update).await?;
        }
        tx.commit().await
    }
}

fn record(row: &Row) -> Result<TokenRecord, StoreError> {
    let id: TokenId = row.parsed("id")?;
    let damaged = || {
        StoreError::corrupt(format!(
            "the record of token {id} is damaged: revoke it and make another"
        ))
    };
    let role = row.text("role")?;
    let (tools, agents) = (row.text("tools")?, row.text("agents")?);
    Ok(TokenRecord {
        id,
        name: row.text("name")?,
        role: serde_json::from_value(role.into()).map_err(|_| damaged())?,
        tools: serde_json::from_str(&tools).map_err(|_| damaged())?,
        agents: serde_json::from_str(&agents).map_err(|_| damaged())?,
        hash: hex::decode(&row.text("hash")?).ok_or_else(damaged)?,
        created: Timestamp(row.int("created")?),
        expires: row.int_or_null("expires")?.map(Timestamp),
        revoked: row.int_or_null("revoked")?.map(Timestamp),
        last_used: row.int_or_null("last_used")?.map(Timestamp),
        browser: row.int("browser")? != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestHome, ids};
    use crate::token_text::mint_token;

    fn token(name: &str) -> TokenRecord {
        let minted = mint_token(&ids());
        TokenRecord {
            id: minted.id,
            name: name.to_owned(),
            role: Role::ReadOnly,
            tools: vec![Pattern::new("gsv__*"), Pattern::new("it's \"odd\"")],
            agents: vec![Pattern::new("main")],
            hash: minted.hash,
            created: Timestamp(10),
            expires: Some(Timestamp(100)),
            revoked: None,
            last_used: None,
            browser: false,
        }
    }

    #[tokio::test]
    async fn a_token_survives_reopening() {
        let home = TestHome::new();
        let record = TokenRecord {
            browser: true,
            ..token("laptop")
        };
        home.open().await.tokens().insert(&record).await.unwrap();
        let tokens = home.open().await.tokens().clone();
        assert_eq!(tokens.get(record.id).await.unwrap(), Some(record.clone()));
        assert_eq!(tokens.list().await.unwrap(), vec![record]);
        let stranger = mint_token(&ids()).id;
        assert_eq!(tokens.get(stranger).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_token_cannot_be_inserted_twice() {
        let home = TestHome::new();
        let store = home.open().await;
        let record = token("one");
        store.tokens().insert(&record).await.unwrap();
        let again = TokenRecord {
            name: "two".to_owned(),
            ..record.clone()
        };
        let error = store.tokens().insert(&again).await.unwrap_err();
        assert!(matches!(error, StoreError::Exists { .. }), "{error:?}");
        assert_eq!(store.tokens().list().await.unwrap(), vec![record]);
    }

    #[tokio::test]
    async fn revoking_twice_keeps_the_first_time() {
        let home = TestHome::new();
        let store = home.open().await;
        let (record, other) = (token("a"), token("b"));
        store.tokens().insert(&record).await.unwrap();
        store.tokens().insert(&other).await.unwrap();
        for at in [50, 60] {
            store
                .tokens()
                .revoke(record.id, Timestamp(at))
                .await
                .unwrap();
        }
        let kept = store.tokens().get(record.id).await.unwrap().unwrap();
        assert_eq!(kept.revoked, Some(Timestamp(50)));
        assert!(!kept.is_live(Timestamp(55)));
        let other = store.tokens().get(other.id).await.unwrap().unwrap();
        assert!(other.is_live(Timestamp(55)) && !other.is_live(Timestamp(100)));
        let missing = store
            .tokens()
            .revoke(mint_token(&ids()).id, Timestamp(1))
            .await;
        assert!(matches!(missing, Err(StoreError::NotFound { .. })));
    }

    #[tokio::test]
    async fn the_last_use_only_moves_forward() {
        let home = TestHome::new();
        let store = home.open().await;
        let record = token("a");
        store.tokens().insert(&record).await.unwrap();
        let used = [(record.id, Timestamp(30)), (record.id, Timestamp(20))];
        store.tokens().touch(&used).await.unwrap();
        let kept = store.tokens().get(record.id).await.unwrap().unwrap();
        assert_eq!(kept.last_used, Some(Timestamp(30)));
    }

    #[test]
    fn only_the_right_hash_fits_and_it_is_not_serialised() {
        let record = token("a");
        assert!(record.has_hash(&record.hash));
        assert!(!record.has_hash(&[0; 32]));
        let shown = serde_json::to_string(&record).unwrap();
        assert!(!shown.contains("hash"), "{shown}");
    }
}
