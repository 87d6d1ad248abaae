//! What users can choose of one protocol: the [`options`] of a system are declared once, and everything
//! that is read, told or agreed on comes from there.

use serde::Serialize;
use serde_json::Value;

use crate::options::plain;
use crate::{Error, Settings};

/// An option of a protocol, as users are told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OptionSpec {
    /// The option's key in config files; its argument and its flag are named alike.
    pub key: &'static str,
    /// What the option does, in words for its users.
    pub help: String,
    /// The names of its values, the default first; none if it is a whole number.
    pub choices: Vec<&'static str>,
}

impl OptionSpec {
    /// The option as the comment that declares it says.
    pub(super) fn new(key: &'static str, comment: &str, choices: Vec<&'static str>) -> Self {
        let text = comment.trim().trim_end_matches('.');
        let help = text[..1].to_lowercase() + &text[1..];
        OptionSpec { key, help, choices }
    }
}

/// The options of a system; [`options`] implements it.
pub(crate) trait SystemOptions: Copy {
    /// Each in short, in the order in which they are told.
    fn specs() -> Vec<OptionSpec>;

    /// What the settings ask for, and defaults.
    fn read(settings: &Settings) -> Result<Self, Error>;

    /// Each with its key.
    fn values(&self) -> Vec<(&'static str, Value)>;
}

/// The values that an option may have.
pub(crate) trait Values<T> {
    /// The names of the values, if they have any.
    fn names(&self) -> Vec<&'static str>;

    /// The value if none is given.
    fn default(&self) -> T;

    /// Reads one that is given for an option of a protocol.
    fn read(&self, protocol: &str, key: &str, given: &Value) -> Result<T, Error>;

    /// A value as reports and config files have it.
    fn value(&self, chosen: T) -> Value;
}

/// Things by their names; the first is the default.
impl<T: Copy + PartialEq, const N: usize> Values<T> for [(&'static str, T); N] {
    fn names(&self) -> Vec<&'static str> {
        self.iter().map(|(name, _)| *name).collect()
    }

    fn default(&self) -> T {
        self[0].1
    }

    fn read(&self, protocol: &str, key: &str, given: &Value) -> Result<T, Error> {
        let text: String = read(key, given)?;
        let found = self.iter().find(|(name, _)| *name == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names = Values::names(self).join(", ");
            Error::setting(
                format!("{key} '{}'", text.escape_debug()),
                format!("{protocol} has {names}; choose one of them"),
            )
        })
    }

    fn value(&self, chosen: T) -> Value {
        let found = self.iter().find(|(_, value)| *value == chosen);
        found.map(|(name, _)| *name).into()
    }
}

/// Whole numbers; the protocol chooses what is not given.
pub(super) struct Count;

impl Values<Option<usize>> for Count {
    fn names(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn default(&self) -> Option<usize> {
        None
    }

    fn read(&self, _: &str, key: &str, given: &Value) -> Result<Option<usize>, Error> {
        read(key, given).map(Some)
    }

    fn value(&self, chosen: Option<usize>) -> Value {
        chosen.into()
    }
}

fn read<T: serde::de::DeserializeOwned>(key: &str, given: &Value) -> Result<T, Error> {
    T::deserialize(given).map_err(|e| Error::setting(key, plain(&e.to_string())))
}

/// Declares the options of a system: each with its help, its type and its values.
macro_rules! options {
    (
        $(#[doc = $about:literal])+
        struct Options {
            $($(#[doc = $help:literal])+ $key:ident: $type:ty = $values:expr,)*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Options {
            $($(#[doc = $help])+ pub $key: $type,)*
        }

        impl $crate::systems::SystemOptions for Options {
            fn specs() -> Vec<$crate::OptionSpec> {
                vec![$($crate::OptionSpec::new(
                    stringify!($key),
                    concat!($($help),+),
                    $crate::systems::Values::<$type>::names(&$values),
                )),*]
            }

            fn read(_settings: &$crate::Settings) -> Result<Self, $crate::Error> {
                Ok(Options {
                    $($key: _settings.option(stringify!($key), &$values)?,)*
                })
            }

            fn values(&self) -> Vec<(&'static str, serde_json::Value)> {
                vec![$((
                    stringify!($key),
                    $crate::systems::Values::<$type>::value(&$values, self.$key),
                )),*]
            }
        }
    };
}
pub(super) use options;
