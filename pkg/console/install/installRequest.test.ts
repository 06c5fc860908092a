import { expect, test } from "vitest";
import type { InstallForm, PermissionSource } from "../../consoleapi/install.ts";
import { formatInstallCommand, readEnteredConfig, toInstallRequest, toPlainJson } from "./installRequest.ts";

const build = (form: InstallForm, permissionSource: PermissionSource = "managed") =>
  toInstallRequest("db", form, { config: readEnteredConfig(form.config), permissionSource, systemNamespace: "olm" });

test.for<[what: string, config: InstallForm["config"], entered: object]>([
  ["no configuration", undefined, { value: undefined, yaml: "", error: undefined }],
  ["fields of the form", { value: { a: 1 } }, { value: { a: 1 }, yaml: "a: 1\n", error: undefined }],
  ["no fields", { value: {} }, { value: undefined, yaml: "", error: undefined }],
  ["YAML", { yaml: "a: [1]" }, { value: { a: [1] }, yaml: "a: [1]", error: undefined }],
  ["an empty text", { yaml: " # nothing" }, { value: undefined, yaml: " # nothing", error: undefined }],
  ["YAML that is not an object", { yaml: "- a" }, { value: undefined, error: "the configuration is not an object" }],
  ["invalid YAML", { yaml: "a: [" }, { value: undefined, error: expect.any(String) }],
])("readEnteredConfig reads %s", ([, config, entered]) => {
  expect(readEnteredConfig(config)).toMatchObject(entered);
});

test("toPlainJson converts integers that JSON cannot contain", () => {
  expect(toPlainJson(readEnteredConfig({ yaml: "a: 9007199254740993" }).value)).toEqual({ a: 9007199254740992 });
});

test("toInstallRequest leaves out empty fields", () => {
  expect(build({ name: " ", namespace: "", range: "", channel: "", catalog: "" })).toEqual({
    packageName: "db",
    channel: [],
    catalog: [],
    watchNamespace: [],
    config: undefined,
    systemNamespace: "olm",
  });
});

test("toInstallRequest creates a ServiceAccount, and requests no approval, without permission-manager", () => {
  expect(build({ approval: "Manual" }, "account")).toMatchObject({ createServiceAccount: true });
  expect(build({ approval: "Manual" }, "account").approval).toBeUndefined();
  expect(build({ approval: "Manual" }).approval).toBe("Manual");
});

test("formatInstallCommand names everything that the form requests, quoted for a shell", () => {
  const form: InstallForm = {
    catalog: "main",
    range: ">=1.0.0 <2",
    channel: "stable",
    name: "my-db",
    namespace: "data",
    approval: "Manual",
    config: { value: { a: 1 } },
  };
  expect(formatInstallCommand(build(form))).toBe(
    "olmv1 install db --catalog main --version '>=1.0.0 <2' --channel stable --name my-db --namespace data --approval Manual --config FILE",
  );
  expect(formatInstallCommand(build({}, "account"))).toBe("olmv1 install db --create-service-account");
});

test("toInstallRequest creates no ServiceAccount, but the namespace, for a controller that ignores ServiceAccounts", () => {
  const request = build({ approval: "Manual" }, "controller");
  expect(request).toMatchObject({ createNamespace: true });
  expect([request.createServiceAccount, request.approval]).toEqual([undefined, undefined]);
  expect(formatInstallCommand(request)).toBe("kubectl apply -f FILE");
});
