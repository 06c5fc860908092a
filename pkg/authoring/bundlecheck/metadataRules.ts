import { ANNOTATION_PROPERTIES } from "../../api/constants.ts";
import { isLabel } from "../../api/names.ts";
import { ANNOTATIONS_FILE, MEDIA_TYPE_KEY } from "../../bundle/annotations.ts";
import { parseMaxVersion } from "../../bundle/maxOpenShiftVersion.ts";
import { parseRawProperties } from "../../bundle/properties.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { findMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import type { BundleContent } from "./content.ts";
import { type Breach, defineInfoRule, defineWarningRule, type RuleTable, Source } from "./rule.ts";

const PREFIX = "operators.operatorframework.io.";
const PACKAGE = `${PREFIX}bundle.package.v1`;
const CHANNELS = `${PREFIX}bundle.channels.v1`;
const DEFAULT_CHANNEL = `${PREFIX}bundle.channel.default.v1`;
/** operator-sdk also writes annotations that begin with its own prefixes `metrics` and `test`. */
const KNOWN = new Set([MEDIA_TYPE_KEY, PACKAGE, CHANNELS, DEFAULT_CHANNEL, `${PREFIX}bundle.manifests.v1`, `${PREFIX}bundle.metadata.v1`]);
const OF_SDK = /^operators\.operatorframework\.io\.(metrics|test)\./;

/** Rules for `metadata/annotations.yaml`. */
export const ANNOTATION_RULES: RuleTable = {
  "media-type-missing": defineWarningRule("The bundle annotations should contain the media type.", Source.format, mediaTypeMissing),
  folders: defineWarningRule("The folders in the bundle annotations should exist.", Source.format, folders),
  "package-name": defineWarningRule(
    "The package name should be a DNS-1123 label, because catalogs require it.",
    Source.format,
    packageName,
  ),
  channels: defineWarningRule("The bundle annotations should contain at least one channel.", Source.format, channels),
  "default-channel": defineInfoRule("The default channel should be a channel of the bundle.", Source.format, defaultChannel),
  "annotation-unknown": defineWarningRule(
    "Annotations with the prefix of the bundle format should be defined by the format.",
    Source.format,
    unknownAnnotations,
  ),
};

function getAnnotation({ annotations }: BundleContent, key: string): string {
  const value = findMember(annotations, key);
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value).trim() : "";
}

function breach(key: string, message: string): Breach {
  return { message, at: { file: ANNOTATIONS_FILE, path: ["annotations", key] } };
}

/** Reports whether the annotations file exists and contains readable annotations. */
function hasAnnotations({ annotations }: BundleContent): boolean {
  return Object.keys(annotations).length > 0;
}

function listChannels(content: BundleContent): string[] {
  return getAnnotation(content, CHANNELS)
    .split(",")
    .map((channel) => channel.trim())
    .filter((channel) => channel !== "");
}

function mediaTypeMissing(content: BundleContent): Breach[] {
  return hasAnnotations(content) && getAnnotation(content, MEDIA_TYPE_KEY) === ""
    ? [breach(MEDIA_TYPE_KEY, `annotation ${MEDIA_TYPE_KEY} is missing: set it to registry+v1`)]
    : [];
}

function folders({ loaded }: BundleContent): Breach[] {
  if (loaded instanceof Error) return [];
  return loaded.cautions
    .filter((caution) => caution.startsWith(ANNOTATIONS_FILE))
    .map((message) => ({ message, at: { file: ANNOTATIONS_FILE } }));
}

function packageName(content: BundleContent): Breach[] {
  const name = getAnnotation(content, PACKAGE);
  return name === "" || isLabel(name) ? [] : [breach(PACKAGE, `package name ${goQuote(name)} is not a DNS-1123 label: catalogs reject it`)];
}

function channels(content: BundleContent): Breach[] {
  return hasAnnotations(content) && listChannels(content).length === 0
    ? [breach(CHANNELS, `annotation ${CHANNELS} contains no channel: set it, because catalog generators add the bundle to these channels`)]
    : [];
}

function defaultChannel(content: BundleContent): Breach[] {
  const name = getAnnotation(content, DEFAULT_CHANNEL);
  const named = listChannels(content);
  if (name === "" || named.length === 0 || named.includes(name)) return [];
  return [
    breach(
      DEFAULT_CHANNEL,
      `default channel ${goQuote(name)} is not a channel of the bundle (${named.map(goQuote).join(", ")}): another bundle must provide it`,
    ),
  ];
}

function unknownAnnotations({ annotations }: BundleContent): Breach[] {
  return Object.keys(annotations)
    .filter((key) => key.startsWith(PREFIX) && !KNOWN.has(key) && !OF_SDK.test(key))
    .map((key) => breach(key, `annotation ${goQuote(key)} is not part of the bundle format and has no effect`));
}

/** Rules for the dependencies and properties of a bundle. */
export const METADATA_RULES: RuleTable = {
  dependencies: defineWarningRule("The dependencies of the bundle should be readable.", Source.format, dependencies),
  "max-openshift-version": defineWarningRule(
    "The property olm.maxOpenShiftVersion should be an OpenShift version.",
    Source.gate,
    maxOpenShiftVersion,
  ),
};

function dependencies({ dependencyFaults }: BundleContent): Breach[] {
  return dependencyFaults.map((fault) => {
    const [file = ""] = fault.split(":", 1);
    return { message: fault.slice(file.length + 1).trim(), at: { file } };
  });
}

function maxOpenShiftVersion({ loaded }: BundleContent): Breach[] {
  if (loaded instanceof Error) return [];
  try {
    const found = parseMaxVersion(parseRawProperties(loaded.csv.metadata.annotations?.[ANNOTATION_PROPERTIES] ?? "null"));
    if (found.kind !== "invalid") return [];
    return found.errors.map((message) => ({ message: `${message}; the bundle would block all cluster upgrades` }));
  } catch (err) {
    return [{ message: getErrorMessage(err) }];
  }
}
