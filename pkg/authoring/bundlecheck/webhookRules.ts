import type { WebhookDescription } from "../../bundle/types.ts";
import { getObjectsAt } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import type { BundleContent } from "./content.ts";
import { type Breach, defineErrorRule, defineWarningRule, type RuleTable, Source } from "./rule.ts";

const TYPES = ["ValidatingAdmissionWebhook", "MutatingAdmissionWebhook", "ConversionWebhook"];
const SIDE_EFFECTS = ["None", "NoneOnDryRun"];
const REVIEW_VERSIONS = ["v1", "v1beta1"];
/** Required lists in a rule of an admission webhook. */
const RULE_LISTS = ["operations", "apiGroups", "apiVersions", "resources"];
const MAX_PORT = 65_535;

/** Rules for webhooks that operator-controller does not check. */
export const WEBHOOK_RULES: RuleTable = {
  "webhook-type": defineWarningRule("The webhook type should be a known type.", Source.format, types),
  "webhook-domain": defineErrorRule(
    "The name of an admission webhook must have at least three dot-separated parts.",
    Source.apiServer,
    domains,
  ),
  "webhook-port": defineErrorRule("A webhook must have a valid containerPort.", Source.apiServer, ports),
  "webhook-target-ports": defineErrorRule(
    "Webhooks with the same deployment and containerPort must have the same targetPort.",
    Source.apiServer,
    targetPorts,
  ),
  "webhook-path": defineErrorRule("The webhook path must begin with a slash.", Source.apiServer, paths),
  "webhook-side-effects": defineErrorRule(
    "The sideEffects of an admission webhook must be None or NoneOnDryRun.",
    Source.apiServer,
    sideEffects,
  ),
  "webhook-review-versions": defineErrorRule(
    "A webhook must support an admission review version that the API server supports.",
    Source.apiServer,
    reviewVersions,
  ),
  "webhook-timeout": defineErrorRule("The timeout of an admission webhook must be between 1 and 30 seconds.", Source.apiServer, timeouts),
  "webhook-policies": defineErrorRule("The policies of an admission webhook must have valid values.", Source.apiServer, policies),
  "webhook-rules": defineErrorRule(
    "Every admission webhook rule must list operations, API groups, versions and resources.",
    Source.apiServer,
    rules,
  ),
};

const POLICIES = {
  failurePolicy: ["Fail", "Ignore"],
  matchPolicy: ["Equivalent", "Exact"],
  reinvocationPolicy: ["Never", "IfNeeded"],
} as const;

type WebhookCheck = (webhook: WebhookDescription, isAdmission: boolean) => readonly string[];

/** Applies a check to all webhooks of known types, in order. Breaches are located at the field `member`. */
function inEach(content: BundleContent, member: keyof WebhookDescription, check: WebhookCheck): Breach[] {
  return (content.csv?.spec.webhookdefinitions ?? []).flatMap((webhook, i) => {
    if (!TYPES.includes(webhook.type)) return [];
    const at = content.inCsv("spec", "webhookdefinitions", i, member);
    return check(webhook, webhook.type !== "ConversionWebhook").map((text) => ({
      message: `webhook ${goQuote(webhook.generateName)} ${text}`,
      at,
    }));
  });
}

function types(content: BundleContent): Breach[] {
  return (content.csv?.spec.webhookdefinitions ?? []).flatMap(({ type, generateName }, i) =>
    TYPES.includes(type)
      ? []
      : [
          {
            message: `webhook ${goQuote(generateName)} has unknown type ${goQuote(type)}, which has no effect: use one of ${TYPES.join(", ")}`,
            at: content.inCsv("spec", "webhookdefinitions", i, "type"),
          },
        ],
  );
}

function domains(content: BundleContent): Breach[] {
  return inEach(content, "generateName", ({ generateName }, isAdmission) => {
    const name = generateName.replace(/-$/, "");
    return isAdmission && name.split(".").length < 3
      ? ["has fewer than three dot-separated parts in its name: use a name such as validate.things.example.com"]
      : [];
  });
}

function ports(content: BundleContent): Breach[] {
  return inEach(content, "containerPort", ({ containerPort = 0 }) =>
    containerPort >= 1 && containerPort <= MAX_PORT
      ? []
      : [`has invalid containerPort ${containerPort}: set a port between 1 and 65535, usually 443`],
  );
}

function targetPorts(content: BundleContent): Breach[] {
  const first = new Map<string, number | string>();
  return inEach(content, "targetPort", ({ deploymentName = "", containerPort = 0, targetPort }) => {
    const port = containerPort > 0 ? containerPort : 443;
    const key = `${deploymentName}\0${port}`;
    const target = targetPort ?? port;
    const known = first.get(key);
    if (known === undefined) first.set(key, target);
    return known === undefined || known === target
      ? []
      : [
          `maps port ${port} of deployment ${goQuote(deploymentName)} to ${target}, but another webhook maps it to ${known}: use different containerPorts`,
        ];
  });
}

function paths(content: BundleContent): Breach[] {
  return inEach(content, "webhookPath", ({ webhookPath }) =>
    webhookPath === undefined || webhookPath.startsWith("/") ? [] : [`has invalid path ${goQuote(webhookPath)}: must begin with a slash`],
  );
}

function sideEffects(content: BundleContent): Breach[] {
  return inEach(content, "sideEffects", ({ sideEffects: stated }, isAdmission) =>
    !isAdmission || SIDE_EFFECTS.includes(stated ?? "")
      ? []
      : [`has invalid sideEffects ${goQuote(stated ?? "")}: use one of ${SIDE_EFFECTS.join(", ")}`],
  );
}

function reviewVersions(content: BundleContent): Breach[] {
  return inEach(content, "admissionReviewVersions", ({ admissionReviewVersions }) =>
    (admissionReviewVersions ?? []).some((version) => REVIEW_VERSIONS.includes(version))
      ? []
      : [`must list at least one of ${REVIEW_VERSIONS.join(", ")} in admissionReviewVersions`],
  );
}

function timeouts(content: BundleContent): Breach[] {
  return inEach(content, "timeoutSeconds", ({ timeoutSeconds = 10 }, isAdmission) =>
    !isAdmission || (timeoutSeconds >= 1 && timeoutSeconds <= 30)
      ? []
      : [`has invalid timeoutSeconds ${timeoutSeconds}: must be between 1 and 30`],
  );
}

function policies(content: BundleContent): Breach[] {
  return inEach(content, "failurePolicy", (webhook, isAdmission) =>
    Object.entries(POLICIES).flatMap(([member, known]) => {
      const value = webhook[member as keyof typeof POLICIES];
      const isUsed = isAdmission && (member !== "reinvocationPolicy" || webhook.type === "MutatingAdmissionWebhook");
      return !isUsed || value === undefined || (known as readonly string[]).includes(value)
        ? []
        : [`has invalid ${member} ${goQuote(value)}: use one of ${known.join(", ")}`];
    }),
  );
}

function rules(content: BundleContent): Breach[] {
  return inEach(content, "rules", (webhook, isAdmission) =>
    getObjectsAt({ ...webhook }, "rules").flatMap((rule, i) => {
      const missing = RULE_LISTS.filter((list) => !Array.isArray(rule[list]) || rule[list].length === 0);
      return isAdmission && missing.length > 0 ? [`has no ${missing.join(" and no ")} in rules[${i}]`] : [];
    }),
  );
}
