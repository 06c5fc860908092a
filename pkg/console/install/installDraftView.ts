import type { InstallDraft, PermissionSource } from "../../consoleapi/install.ts";
import type { RuleList } from "../../consoleapi/rules.ts";
import { toYaml } from "../../golang/yaml.ts";
import type { InstallPreview, InstallRequest } from "../../installer/installPreview.ts";
import type { RequiredRules } from "../../rbac/requiredRules.ts";
import { placeRules } from "../../rollout/placedRules.ts";
import { toSentence } from "../../text/sentence.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";
import { formatVersionRelease } from "../../version/version.ts";
import { buildRuleList } from "../permissions/ruleRows.ts";
import { type EnteredConfig, formatInstallCommand, toPlainJson } from "./installRequest.ts";

const MAX_WARNINGS = 50;
const MAX_EXPLANATION = 8_000;

/** A requested installation, and what is known about it. */
export interface DraftedInstall {
  readonly request: InstallRequest;
  readonly preview: InstallPreview;
  readonly config: EnteredConfig;
  readonly permissionSource: PermissionSource;
  /** Whether ClusterExtensions have a field for the configuration. */
  readonly isConfigurable: boolean;
  readonly knownBundle: string | undefined;
}

/** Describes what an installation would apply. */
export function buildInstallDraft({
  request,
  preview,
  config,
  permissionSource,
  isConfigurable,
  knownBundle,
}: DraftedInstall): InstallDraft {
  const { answer, draft, preparation, invalid, configSchema, warnings } = preview;
  const { resolution } = answer;
  const bundle = resolution.kind === "resolved" ? resolution.bundle.name : undefined;
  const objects = preparation ? (preparation.objects.length > 0 ? preparation.objects : [preparation.extension]) : [draft];
  const namespace = preparation?.extension.spec.namespace ?? (draft.spec.namespace || undefined);
  const installer = preparation?.permissions?.installer;
  return {
    permissionSource,
    isConfigurable,
    ...(resolution.kind === "resolved"
      ? { bundle: { name: resolution.bundle.name, version: formatVersionRelease(resolution.version), catalog: resolution.catalog } }
      : {}),
    explanation: toSentence(resolution.kind === "resolved" ? resolution.explanation : resolution.message, { max: MAX_EXPLANATION }),
    ...(namespace === undefined ? {} : { namespace }),
    yaml: objects.map((object) => toYaml(object)).join("---\n"),
    isComplete: preparation !== undefined && config.error === undefined,
    command: formatInstallCommand(request),
    config: {
      ...(config.error === undefined ? { value: toPlainJson(config.value) } : {}),
      yaml: config.yaml,
      errors: config.error === undefined ? listErrors(invalid) : [{ path: "", message: truncate(config.error, CAUSE_LENGTH) }],
    },
    ...(configSchema && bundle !== knownBundle ? { schema: configSchema } : {}),
    ...(preparation?.permissions && installer
      ? {
          permissions: {
            account: `${installer.namespace}/${installer.name}`,
            needed: toRuleList(preparation.permissions.needed),
            given: toRuleList(preparation.permissions.given),
          },
        }
      : {}),
    warnings: [
      ...(preparation?.adopted ? [describeAdoption(preparation.adopted)] : []),
      ...(resolution.kind === "resolved" ? resolution.warnings : []),
      ...warnings,
    ]
      .slice(0, MAX_WARNINGS)
      .map((text) => toSentence(text)),
  };
}

function listErrors(invalid: InstallPreview["invalid"]): InstallDraft["config"]["errors"] {
  if (!invalid) return [];
  const { message, details } = invalid;
  const configuration = details?.configuration ?? [];
  return configuration.length > 0 ? configuration.map((one) => ({ ...one })) : [{ path: "", message: truncate(message, CAUSE_LENGTH) }];
}

function toRuleList(rules: RequiredRules): RuleList {
  return buildRuleList(placeRules(rules));
}

function describeAdoption({ account, createdFor }: { readonly account: string; readonly createdFor: string | undefined }): string {
  const origin = createdFor === undefined ? "was not created for an installation" : `was created for ClusterExtension ${createdFor}`;
  return `ServiceAccount ${account} exists and ${origin}; it would get the permissions`;
}
