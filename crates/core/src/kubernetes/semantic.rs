//! Compares two values as the API server does, regardless of notation: `apiequality.Semantic.DeepEqual` on Go's types.
//!
//! Quantities are compared by value; absent and empty lists and maps are equal; and so are an absent field and `0`,
//! `""`, `false` or an empty struct, unless the field is a pointer in Go.
//!
//! Kubernetes: `pkg/api/equality/semantic.go` and `third_party/forked/golang/reflect/deep_equal.go`, both in
//! apimachinery.

mod fields;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde::{
    Serialize, Serializer,
    ser::{Impossible, SerializeMap, SerializeSeq, SerializeStruct},
};
use serde_json::{Error, Map, Value};

use super::quantity::Quantity;

/// Go's time without a value. The API server stores null.
pub(crate) const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

/// Returns whether the API server considers two values equal. Both must have their defaults.
pub fn equal<T: PartialEq + Serialize + ?Sized>(one: &T, other: &T) -> bool {
    // A value that cannot be serialized equals no other.
    one == other || canonical(one).is_some_and(|one| canonical(other) == Some(one))
}

/// Like [`equal`], for pod templates. The API server converts them before it compares them. Kubernetes:
/// `Convert_v1_PodSpec_To_core_PodSpec` and `Convert_v1_PodTemplateSpec_To_core_…`, `pkg/apis/core/v1/conversion.go`.
pub fn equal_templates(one: &PodTemplateSpec, other: &PodTemplateSpec) -> bool {
    one == other || equal(&converted(one), &converted(other))
}

pub(crate) fn converted(template: &PodTemplateSpec) -> PodTemplateSpec {
    let mut template = template.clone();
    if let Some(spec) = &mut template.spec {
        let alias = spec
            .service_account
            .take()
            .filter(|_| spec.service_account_name.as_deref().unwrap_or_default().is_empty());
        spec.service_account_name = alias.or(spec.service_account_name.take());
    }
    let annotations = template.metadata.as_mut().and_then(|meta| meta.annotations.as_mut());
    if let Some(annotations) = annotations {
        annotations.retain(|key, _| !fields::INIT_CONTAINER_ANNOTATIONS.contains(&key.as_str()));
    }
    template
}

/// Returns a form that is the same for all values that the API server considers equal.
pub(crate) fn canonical<T: Serialize + ?Sized>(value: &T) -> Option<Value> {
    value.serialize(Form::Canonical { is_amount: false }).ok()
}

/// Returns the JSON of a value, as `serde_json::to_value` does. The large types of Kubernetes need one serializer only.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Option<Value> {
    value.serialize(Form::Written).ok()
}

#[derive(Clone, Copy)]
enum Form {
    Written,
    /// In the canonical form: a value that equals absence becomes null.
    Canonical {
        /// The API server rounds amounts of a resource, the quantities in maps, up to thousandths.
        is_amount: bool,
    },
}

impl Form {
    const fn of(self, is_amount: bool) -> Self {
        match self {
            Form::Written => self,
            Form::Canonical { .. } => Form::Canonical { is_amount },
        }
    }

    /// A list or map.
    fn list(self, value: Value) -> Value {
        let is_empty = value == Value::Array(Vec::new()) || value == Value::Object(Map::new());
        if is_empty && !matches!(self, Form::Written) { Value::Null } else { value }
    }
}

struct Seq {
    form: Form,
    elements: Vec<Value>,
}

/// A struct, which has a name, or a map, whose next value has a key.
struct Fields {
    form: Form,
    name: &'static str,
    key: String,
    map: Map<String, Value>,
}

impl SerializeStruct for Fields {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        field: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let value = value.serialize(self.form.of(false))?;
        let absent = match &value {
            _ if matches!(self.form, Form::Written) => false,
            Value::Null => true,
            Value::Object(map) => map.is_empty() && fields::is_plain_struct(self.name, field),
            Value::Bool(on) => !on && !fields::is_pointer(self.name, field),
            Value::Number(number) => {
                number.as_i64() == Some(0) && !fields::is_pointer(self.name, field)
            }
            Value::String(text) => text.is_empty() && !fields::is_pointer(self.name, field),
            Value::Array(_) => false,
        };
        if !absent {
            self.map.insert(field.to_owned(), value);
        }
        Ok(())
    }

    fn end(self) -> Result<Value, Error> {
        Ok(Value::Object(self.map))
    }
}

impl SerializeSeq for Seq {
    type Ok = Value;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.elements.push(value.serialize(self.form.of(false))?);
        Ok(())
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.form.list(Value::Array(self.elements)))
    }
}

impl SerializeMap for Fields {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = match key.serialize(Form::Written)? {
            Value::String(key) => key,
            other => other.to_string(),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let value = value.serialize(self.form.of(true))?;
        self.map.insert(std::mem::take(&mut self.key), value);
        Ok(())
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.form.list(Value::Object(self.map)))
    }
}

macro_rules! scalars {
    ($($name:ident: $type:ty,)*) => {
        $(fn $name(self, value: $type) -> Result<Value, Error> {
            Ok(Value::from(value))
        })*
    };
}

impl Serializer for Form {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = Seq;
    type SerializeTuple = Impossible<Value, Error>;
    type SerializeTupleStruct = Impossible<Value, Error>;
    type SerializeTupleVariant = Impossible<Value, Error>;
    type SerializeMap = Fields;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Impossible<Value, Error>;

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        let value = value.serialize(self.of(false))?;
        let Form::Canonical { is_amount } = self else { return Ok(value) };
        if name == "Time" && value == ZERO_TIME {
            return Ok(Value::Null);
        }
        if name != "Quantity" {
            return Ok(value);
        }
        let text = value.as_str().unwrap_or_default();
        let quantity =
            if is_amount { Quantity::parse_resource(text) } else { Quantity::parse(text) };
        Ok(match quantity {
            Some(quantity) if quantity.is_zero() => Value::from(0),
            Some(quantity) => Value::String(quantity.comparison_key()),
            None => value,
        })
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields, Error> {
        Ok(Fields { form: self, name, key: String::new(), map: Map::new() })
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Seq, Error> {
        Ok(Seq { form: self, elements: Vec::with_capacity(len.unwrap_or(0)) })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields, Error> {
        self.serialize_struct("", 0)
    }

    fn serialize_none(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Error> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, Error> {
        Ok(Value::Null)
    }
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Value, Error> {
        Ok(Value::from(variant))
    }
    scalars! {
        serialize_bool: bool, serialize_str: &str, serialize_bytes: &[u8],
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_f32: f32, serialize_f64: f64,
    }
    fn serialize_char(self, value: char) -> Result<Value, Error> {
        Ok(Value::from(value.to_string()))
    }
    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        Err(unexpected("a tuple"))
    }
    fn serialize_tuple_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        Err(unexpected(name))
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        value.serialize(self)
    }
    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Err(unexpected(name))
    }
    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Err(unexpected(name))
    }
}

/// No type of Kubernetes uses such a form.
fn unexpected(name: &str) -> Error {
    serde::ser::Error::custom(format!("{name} is not a type of Kubernetes"))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::core::v1::{Container, PersistentVolumeClaim},
        apimachinery::pkg::apis::meta::v1::LabelSelector,
    };
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::*;

    fn same<T: DeserializeOwned + PartialEq + Serialize>(one: &Value, other: &Value) -> bool {
        let read = |json: &Value| serde_json::from_value::<T>(json.clone()).unwrap();
        let (one, other) = (read(one), read(other));
        let forth = equal(&one, &other);
        assert_eq!(forth, equal(&other, &one), "it is symmetric");
        forth
    }

    #[test]
    fn quantities_are_compared_by_value() {
        let with = |amount: &str| json!({"name": "a", "resources": {"limits": {"cpu": amount}}});
        assert!(same::<Container>(&with("1"), &with("1000m")));
        assert!(same::<Container>(&with("0.0001"), &with("1m")), "rounded up");
        assert!(!same::<Container>(&with("1"), &with("1001m")));
        assert!(!same::<Container>(&with("0"), &json!({"name": "a"})));
        let claim = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
        assert!(same::<PersistentVolumeClaim>(&claim("1Gi"), &claim("1024Mi")));
        assert!(!same::<PersistentVolumeClaim>(&claim("1Gi"), &claim("1G")));
    }

    #[test]
    fn the_zero_time_is_no_time() {
        let claim = |metadata: Value| json!({"metadata": metadata});
        let zero = claim(json!({"creationTimestamp": "0001-01-01T00:00:00Z"}));
        assert!(same::<PersistentVolumeClaim>(&claim(json!({})), &zero));
        let some = claim(json!({"creationTimestamp": "0001-01-01T00:00:01Z"}));
        assert!(!same::<PersistentVolumeClaim>(&some, &zero));
    }

    #[test]
    fn the_order_of_a_list_counts() {
        let of = |args: &[&str]| json!({"name": "a", "args": args});
        assert!(!same::<Container>(&of(&["a", "b"]), &of(&["b", "a"])));
        assert!(!same::<Container>(&of(&[""]), &of(&[])));
    }

    #[test]
    fn an_absent_selector_is_not_an_empty_one() {
        let empty = LabelSelector::default();
        assert!(!equal(&None, &Some(empty.clone())));
        let written = json!({"matchLabels": {}, "matchExpressions": []});
        assert!(equal(&Some(empty), &serde_json::from_value(written).unwrap()));
        let one = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]});
        let other = json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": []}]});
        assert!(same::<LabelSelector>(&one, &other));
    }

    #[test]
    fn an_alias_is_the_same_account() {
        let template = |spec: Value| {
            serde_json::from_value(json!({"spec": spec, "metadata": {"annotations": {
                "pod.beta.kubernetes.io/init-containers": "[]"}}}))
            .unwrap()
        };
        let named = template(json!({"containers": [], "serviceAccountName": "a"}));
        let alias = template(json!({"containers": [], "serviceAccount": "a"}));
        let both =
            template(json!({"containers": [], "serviceAccount": "b", "serviceAccountName": "a"}));
        assert!(equal_templates(&named, &alias) && equal_templates(&named, &both));
        let mut bare = named.clone();
        bare.metadata = None;
        assert!(equal_templates(&named, &bare), "the annotation is dropped");
    }
}
