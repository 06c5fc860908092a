import type { JsonObject } from "../../api/k8s.ts";
import type { InstallDraft, InstallForm, PermissionSource } from "../../consoleapi/install.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { isObject } from "../../golang/members.ts";
import { parseYaml, toYaml } from "../../golang/yaml.ts";
import type { InstallRequest } from "../../installer/installPreview.ts";
import { quoteShellWord } from "../../text/shell.ts";

/** The configuration that the user entered. */
export interface EnteredConfig {
  /** Undefined if there is none, or if it cannot be parsed. */
  readonly value: JsonObject | undefined;
  /** As the user entered it, or converted from the fields of the form. */
  readonly yaml: string;
  /** Why the YAML cannot be parsed. */
  readonly error: string | undefined;
}

/** Reads the configuration of a form. */
export function readEnteredConfig(config: InstallForm["config"]): EnteredConfig {
  if (!config) return { value: undefined, yaml: "", error: undefined };
  if ("value" in config) {
    const isEmpty = Object.keys(config.value).length === 0;
    return { value: isEmpty ? undefined : config.value, yaml: isEmpty ? "" : toYaml(config.value), error: undefined };
  }
  const { yaml } = config;
  try {
    const value = parseYaml(yaml);
    if (value === null) return { value: undefined, yaml, error: undefined };
    if (!isObject(value)) return { value: undefined, yaml, error: "the configuration is not an object" };
    return { value, yaml, error: undefined };
  } catch (err) {
    return { value: undefined, yaml, error: getErrorMessage(err) };
  }
}

/** Returns a configuration as plain JSON: without the big integers that YAML can contain. */
export function toPlainJson(value: JsonObject | undefined): NonNullable<InstallDraft["config"]["value"]> {
  const text = JSON.stringify(value ?? {}, (_key, member: unknown) => (typeof member === "bigint" ? Number(member) : member));
  return JSON.parse(text) as Record<string, unknown>;
}

/** Returns the request of a form. Fields that the Go implementation does not have are left out unless permission-manager grants the permissions. */
export function toInstallRequest(
  packageName: string,
  form: InstallForm,
  {
    config,
    permissionSource: source,
    systemNamespace,
  }: { readonly config: EnteredConfig; readonly permissionSource: PermissionSource; readonly systemNamespace: string },
): InstallRequest {
  const given = (text: string | undefined): string | undefined => (text?.trim() === "" ? undefined : text?.trim());
  const [name, namespace, version] = [given(form.name), given(form.namespace), given(form.range)];
  return {
    packageName,
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(version === undefined ? {} : { version }),
    channel: given(form.channel) === undefined ? [] : [form.channel ?? ""],
    catalog: given(form.catalog) === undefined ? [] : [form.catalog ?? ""],
    watchNamespace: [],
    config: config.value,
    ...(form.approval === "Manual" && source === "managed" ? { approval: "Manual" } : {}),
    ...(source === "account" ? { createServiceAccount: true } : {}),
    ...(source === "controller" ? { createNamespace: true } : {}),
    systemNamespace,
  };
}

/** Formats the command that installs the same. */
export function formatInstallCommand(request: InstallRequest): string {
  const { packageName, name, namespace, version, channel, catalog, approval, config, createServiceAccount, createNamespace } = request;
  // The command line creates the namespace only with a ServiceAccount.
  if (createNamespace) return "kubectl apply -f FILE";
  const words = [
    "olmv1",
    "install",
    packageName,
    ...catalog.flatMap((one) => ["--catalog", one]),
    ...(version === undefined ? [] : ["--version", version]),
    ...channel.flatMap((one) => ["--channel", one]),
    ...(name === undefined ? [] : ["--name", name]),
    ...(namespace === undefined ? [] : ["--namespace", namespace]),
    ...(approval === undefined ? [] : ["--approval", approval]),
    ...(config === undefined ? [] : ["--config", "FILE"]),
    ...(createServiceAccount ? ["--create-service-account"] : []),
  ];
  return words.map(quoteShellWord).join(" ");
}
