use super::{Done, Kind, Scanner, is_word};
use crate::problem::Problem;

/// The expansion of `!!`.
const STANDARD: &str = "tag:yaml.org,2002:";

impl Scanner<'_> {
    /// Upstream: `yaml_parser_scan_tag`.
    pub(super) fn tag(&mut self) -> Done {
        let start = self.cursor;
        self.cursor.advance(1);
        let tag = if self.cursor.peek(0) == b'<' {
            self.cursor.advance(1);
            let uri = self.uri()?;
            if self.cursor.peek(0) != b'>' || uri.is_empty() {
                return Err(start.error("a tag in <> is incomplete"));
            }
            self.cursor.advance(1);
            uri
        } else {
            let begin = self.cursor.at;
            self.cursor.advance_while(|_, c, _| is_word(c));
            let name = self.cursor.text_since(begin);
            if self.cursor.peek(0) == b'!' {
                self.cursor.advance(1);
                let uri = self.uri()?;
                if !name.is_empty() || uri.is_empty() {
                    return Err(Problem::not_yaml(self.cursor.since(&start), "unknown tag"));
                }
                format!("{STANDARD}{uri}")
            } else {
                format!("!{name}{}", self.uri()?)
            }
        };
        if !self.cursor.is_space_or_end(0) {
            return Err(self.error("a space must follow a tag"));
        }
        self.push(Kind::Tag(tag), start);
        Ok(())
    }

    fn uri(&mut self) -> Result<String, Problem> {
        let mut uri = Vec::new();
        loop {
            match self.cursor.peek(0) {
                b'%' => {
                    let start = self.cursor;
                    self.cursor.advance(1);
                    let digits = self.cursor.at;
                    self.cursor.advance_while(|_, c, n| n < 2 && c.is_ascii_hexdigit());
                    let digits = self.cursor.text_since(digits);
                    match u8::from_str_radix(digits, 16) {
                        Ok(byte) if digits.len() == 2 => uri.push(byte),
                        _ => return Err(start.error("two digits must follow % in a tag")),
                    }
                }
                c if is_word(c) || b";/?:@&=+$,.!~*'()[]".contains(&c) => {
                    uri.push(c);
                    self.cursor.advance(1);
                }
                _ => break,
            }
        }
        String::from_utf8(uri).map_err(|_| self.error("the codes in this tag are not UTF-8"))
    }
}
