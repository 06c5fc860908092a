import type { RuleTable } from "./rule.ts";
import { ANNOTATION_RULES } from "./rules/annotations.ts";
import { CONTROLLER_RULES } from "./rules/controller.ts";
import { CRD_RULES } from "./rules/crds.ts";
import { CSV_RULES } from "./rules/csv.ts";
import { DEPLOYMENT_RULES } from "./rules/deployments.ts";
import { DESCRIPTION_RULES } from "./rules/description.ts";
import { EXAMPLE_RULES } from "./rules/examples.ts";
import { IMAGE_RULES } from "./rules/images.ts";
import { LOADING_RULES } from "./rules/loading.ts";
import { METADATA_RULES } from "./rules/metadata.ts";
import { OBJECT_RULES } from "./rules/objects.ts";
import { OWNED_RULES } from "./rules/owned.ts";
import { RIGHTS_RULES } from "./rules/rights.ts";
import { WEBHOOK_RULES } from "./rules/webhooks.ts";

/** The rules by what they are about, in the order of the reference. */
export const RULE_TOPICS: Readonly<Record<string, RuleTable>> = {
  Loading: LOADING_RULES,
  "What operator-controller checks": CONTROLLER_RULES,
  Annotations: ANNOTATION_RULES,
  ClusterServiceVersion: CSV_RULES,
  "Description for people": DESCRIPTION_RULES,
  "Dependencies and properties": METADATA_RULES,
  Deployments: DEPLOYMENT_RULES,
  Images: IMAGE_RULES,
  Webhooks: WEBHOOK_RULES,
  Rights: RIGHTS_RULES,
  Manifests: OBJECT_RULES,
  CustomResourceDefinitions: CRD_RULES,
  "Owned APIs": OWNED_RULES,
  Examples: EXAMPLE_RULES,
};

/** Every rule by its code. */
export const BUNDLE_RULES: RuleTable = Object.assign({}, ...Object.values(RULE_TOPICS));
