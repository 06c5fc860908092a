import * as z from "zod/mini";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { LimitChange, SourceLimits } from "../../consoleapi/why.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { toYaml } from "../../golang/yaml.ts";
import { buildSourcePatch, changeCatalogSource, formatSourceCommand, type SourceChange, toManifest } from "../../rollout/sourceChange.ts";
import { ConsoleError } from "../http/consoleError.ts";

/** Other limits to try, as in the address of the page. An absent member keeps that of the extension. */
export interface TriedLimits {
  readonly range?: string | undefined;
  /** Separated by commas; empty for all channels. */
  readonly channels?: string | undefined;
  readonly policy?: SourceLimits["policy"] | undefined;
}

/** The query of routes that try other limits. */
export const LimitsQuery = z.object({
  /** Version range; empty for any version. */
  range: z.optional(z.string().check(z.maxLength(256))),
  /** Comma-separated; empty for all channels. */
  channels: z.optional(z.string().check(z.maxLength(4_096))),
  policy: z.optional(z.enum(["CatalogProvided", "SelfCertified"])),
});

/** Returns what an extension may be upgraded to. */
export function readSourceLimits({ spec }: Pick<ClusterExtension, "spec">): SourceLimits {
  const { version = "", channels = [], upgradeConstraintPolicy = "CatalogProvided" } = spec.source.catalog ?? {};
  return { range: version, channels: [...channels], policy: upgradeConstraintPolicy };
}

/** Returns the extension with other limits, which nothing writes. @throws ConsoleError invalid if it does not install a package of a catalog */
export function tryLimits(extension: ClusterExtension, tried: TriedLimits): ClusterExtension {
  try {
    return changeCatalogSource(extension, parseLimits(tried));
  } catch (cause) {
    throw new ConsoleError("invalid", getErrorMessage(cause), { cause });
  }
}

/** Returns limits in the address of a page as a change of the source. */
export function parseLimits({ range, channels, policy }: TriedLimits): SourceChange {
  return {
    version: range?.trim(),
    channels: channels?.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()])),
    upgradeConstraintPolicy: policy,
  };
}

/** Describes the change from the current limits to others, to copy. */
export function describeSourceChange(current: ClusterExtension, tried: ClusterExtension): LimitChange {
  const patch = buildSourcePatch(current, tried);
  return {
    isChanged: Object.keys(patch).length > 0,
    yaml: toYaml(toManifest(tried)),
    patch: JSON.stringify({ spec: { source: { catalog: patch } } }, undefined, 2),
    command: formatSourceCommand(current.metadata.name, patch),
  };
}
