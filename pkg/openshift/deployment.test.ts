import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { formatTime } from "../golang/time.ts";
import { buildDeploymentConditions, formatControllerName } from "./operatorConditions.ts";

type Row = [status: string, reason: string, message: string];

interface DeploymentCase extends CaseHead {
  deployment?: unknown;
  missing?: boolean;
  before?: number;
  available: Row;
  progressing: Row;
  degraded: Row;
  controllers?: [component: string, kind: string, name: string, controller: string][];
}

const cases = loadCases<DeploymentCase>("gate");
const now = new Date("2026-01-02T03:04:05.678Z");
const controller = "CatalogdDeploymentCatalogdControllerManager";

test.for(cases.filter(({ available }) => available))("$name", ({ deployment, before, available, progressing, degraded }) => {
  const since = formatTime(new Date(now.getTime() - (before ?? 0) * 60_000 + 1_000));
  const kept = { type: `${controller}Progressing`, status: "True" as const, reason: "Deploying", message: "", lastTransitionTime: since };
  const found = buildDeploymentConditions(
    { component: "catalogd", name: "catalogd-controller-manager", deployment },
    before === undefined ? [] : [kept],
    now,
  );
  expect(found.map(({ type, status, reason, message }) => [type, status, reason, message])).toEqual([
    [`${controller}Available`, ...available],
    [`${controller}Progressing`, ...progressing],
    [`${controller}Degraded`, ...degraded],
    [`${controller}Upgradeable`, "True", "", ""],
  ]);
});

test.for(cases.flatMap(({ controllers = [] }) => controllers))(
  "formatControllerName of %s %s %s is %s",
  ([component, kind, name, expected]) => {
    expect(formatControllerName(component, kind, name)).toBe(expected);
  },
);

test("buildDeploymentConditions removes hyphens from the component and the Deployment name in condition types", () => {
  const [available] = buildDeploymentConditions({ component: "operator-controller", name: "a-b", deployment: {} }, [], now);
  expect(available?.type).toBe("OperatorcontrollerDeploymentABAvailable");
});
