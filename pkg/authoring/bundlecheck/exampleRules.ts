import { getGroup, getVersion, type JsonObject } from "../../api/k8s.ts";
import { readCrdKind, readCrdVersions } from "../../crdsafety/crdParts.ts";
import { findObjectFaults } from "../../crdsafety/objectFaults.ts";
import { findSizeFault } from "../../crdsafety/schema.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { formatList } from "../../text/lists.ts";
import type { BundleContent, BundlePlace, CrdManifest } from "./content.ts";
import { type Breach, defineInfoRule, defineWarningRule, type RuleTable, Source } from "./rule.ts";

const EXAMPLES = "alm-examples";
/** Maximum errors in one message. Each message is about one example. */
const MAX_FAULTS = 5;

/** Rules for the examples in annotation alm-examples. */
export const EXAMPLE_RULES: RuleTable = {
  examples: defineWarningRule(
    "The annotation alm-examples should be a JSON list of objects.",
    Source.packaging,
    (content) => readExamples(content).breaches,
  ),
  "example-kind": defineWarningRule("Examples should use APIs that the CSV owns or requires.", Source.packaging, kinds),
  "example-valid": defineWarningRule("Examples should be valid under the schema of their CRD.", Source.packaging, valid),
  "example-missing": defineInfoRule("Every owned CRD should have an example.", Source.scorecard, missing),
};

interface Examples {
  readonly objects: readonly { object: JsonObject; at: BundlePlace }[];
  readonly breaches: readonly Breach[];
}

function readExamples(content: BundleContent): Examples {
  const text = content.csvAnnotations[EXAMPLES] ?? "";
  const at = content.inCsv("metadata", "annotations", EXAMPLES);
  if (text.trim() === "") return { objects: [], breaches: [] };
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (err) {
    return { objects: [], breaches: [{ message: `annotation ${EXAMPLES} is not valid JSON: ${getErrorMessage(err)}`, at }] };
  }
  if (!Array.isArray(list)) return { objects: [], breaches: [{ message: `annotation ${EXAMPLES} is not a list`, at }] };
  const breaches = list.flatMap((object: unknown, i) =>
    isObject(object) && typeof object["apiVersion"] === "string" && typeof object["kind"] === "string"
      ? []
      : [{ message: `${EXAMPLES}[${i}] has no apiVersion or no kind`, at }],
  );
  return { objects: breaches.length > 0 ? [] : list.filter(isObject).map((object) => ({ object, at })), breaches };
}

function findDefinition({ crds }: BundleContent, { apiVersion, kind }: JsonObject): CrdManifest | undefined {
  return crds.find(({ crd }) => {
    const of = readCrdKind(crd);
    return of.kind === kind && of.group === getGroup(String(apiVersion));
  });
}

function formatExample({ apiVersion, kind, metadata }: JsonObject): string {
  const name = isObject(metadata) && typeof metadata["name"] === "string" ? ` ${goQuote(metadata["name"])}` : "";
  return `example ${String(kind)}${name} of ${String(apiVersion)}`;
}

/** Reports whether the CSV owns or requires a CRD or API service of this kind. */
function isDescribed({ csv }: BundleContent, { apiVersion, kind }: JsonObject): boolean {
  const { customresourcedefinitions: crds, apiservicedefinitions: apis } = csv?.spec ?? {
    customresourcedefinitions: {},
    apiservicedefinitions: {},
  };
  const group = getGroup(String(apiVersion));
  const ofCrds = [...(crds.owned ?? []), ...(crds.required ?? [])].map((one): JsonObject => ({ ...one }));
  return (
    ofCrds.some((one) => one["kind"] === kind && String(one["name"]).endsWith(`.${group}`)) ||
    [...(apis.owned ?? []), ...(apis.required ?? [])].some((one) => one["kind"] === kind && one["group"] === group)
  );
}

function kinds(content: BundleContent): Breach[] {
  return readExamples(content).objects.flatMap(({ object, at }) => {
    const definition = findDefinition(content, object);
    if (!definition)
      return isDescribed(content, object)
        ? []
        : [{ message: `${formatExample(object)} uses an API that the CSV does not own or require`, at }];
    const served = readCrdVersions(definition.crd)
      .filter((version) => version.served)
      .map(({ name }) => name);
    if (definition.object.apiVersion !== "apiextensions.k8s.io/v1" || served.includes(getVersion(String(object["apiVersion"])))) return [];
    return [{ message: `${formatExample(object)}: the CRD serves only ${served.join(", ") || "no version"}`, at }];
  });
}

function valid(content: BundleContent): Breach[] {
  return readExamples(content).objects.flatMap(({ object, at }) => {
    const definition = findDefinition(content, object);
    const version = definition && readCrdVersions(definition.crd).find(({ name }) => name === getVersion(String(object["apiVersion"])));
    if (!isObject(version?.schema) || findSizeFault(version.schema) !== undefined) return [];
    // The API server ignores the status of a new object.
    const { status: _, ...stated } = object;
    const faults = findObjectFaults(version.schema, stated, content.matches);
    if (faults.length === 0) return [];
    return [{ message: `${formatExample(object)} is not valid: ${formatList(faults, { max: MAX_FAULTS })}`, at }];
  });
}

function missing(content: BundleContent): Breach[] {
  const { objects, breaches } = readExamples(content);
  if (!content.csv || breaches.length > 0) return [];
  return (content.csv.spec.customresourcedefinitions.owned ?? []).flatMap(({ name }, i) => {
    const definition = content.crds.find(({ crd }) => crd.metadata.name === name);
    if (!definition || (content.csvAnnotations["operators.operatorframework.io/internal-objects"] ?? "").includes(JSON.stringify(name)))
      return [];
    if (objects.some(({ object }) => findDefinition(content, object) === definition)) return [];
    return [
      {
        message: `owned CRD ${goQuote(name)} has no example in annotation ${EXAMPLES}`,
        at: content.inCsv("spec", "customresourcedefinitions", "owned", i),
      },
    ];
  });
}
