use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::api::ApiResource;

use crate::server::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Configuration {
    Validating,
    Mutating,
}

impl Configuration {
    pub(crate) const ALL: [Configuration; 2] = [Configuration::Validating, Configuration::Mutating];

    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Configuration::Validating => "ValidatingWebhookConfiguration",
            Configuration::Mutating => "MutatingWebhookConfiguration",
        }
    }

    pub(crate) fn api(self, client: &Client) -> Api<DynamicObject> {
        let resource = match self {
            Configuration::Validating => ApiResource::erase::<ValidatingWebhookConfiguration>(&()),
            Configuration::Mutating => ApiResource::erase::<MutatingWebhookConfiguration>(&()),
        };
        Api::all_with(client.clone(), &resource)
    }
}
