use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use super::metadata::Str;

/// The user who sent the object.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct User<'a> {
    pub username: Str<'a>,
    #[serde(deserialize_with = "groups")]
    pub groups: Option<Vec<Str<'a>>>,
}

impl<'a> User<'a> {
    /// Returns a user with the groups that the API server adds to every user and every service account.
    ///
    /// Kubernetes: `MakeGroupNames`, staging/src/k8s.io/apiserver/pkg/authentication/serviceaccount/util.go.
    pub fn authenticated(username: &'a str) -> Self {
        let mut groups = vec![Str("system:authenticated".into())];
        let account = username.strip_prefix("system:serviceaccount:");
        if let Some((namespace, _)) = account.and_then(|account| account.split_once(':')) {
            groups.push(Str("system:serviceaccounts".into()));
            groups.push(Str(format!("system:serviceaccounts:{namespace}").into()));
        }
        User { username: Str(username.into()), groups: Some(groups) }
    }

    pub(crate) fn is_among(&self, users: &[String], groups: &[String]) -> bool {
        let mut own = self.groups.iter().flatten();
        users.iter().any(|it| **it == *self.username)
            || own.any(|group| groups.iter().any(|it| **it == **group))
    }
}

/// Room for a few hundred is enough: the API server takes groups from a token, a certificate or headers.
const MAX_GROUPS: usize = 10_000;

fn groups<'de: 'a, 'a, D: Deserializer<'de>>(reader: D) -> Result<Option<Vec<Str<'a>>>, D::Error> {
    struct Groups;

    impl<'de> de::Visitor<'de> for Groups {
        type Value = Option<Vec<Str<'de>>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MAX_GROUPS} groups")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut groups = Vec::new();
            while let Some(group) = list.next_element()? {
                if groups.len() == MAX_GROUPS {
                    return Err(de::Error::invalid_length(MAX_GROUPS + 1, &self));
                }
                groups.push(group);
            }
            Ok(Some(groups))
        }
    }
    reader.deserialize_any(Groups)
}
