//! Who is at the keyboard.

/// The user's name, as far as the system says.
pub fn user() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    set("USER").or_else(|| set("LOGNAME")).unwrap_or_else(|| "somebody".to_owned())
}
