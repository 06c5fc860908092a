import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { KubeObject } from "../api/k8s.ts";
import { buildUserRoles } from "./userRoles.ts";

interface UserRolesCase extends CaseHead {
  given: KubeObject[];
  want: KubeObject[];
}

test.for(loadCases<UserRolesCase>("user-roles"))("$name", ({ given, want }) => {
  expect(buildUserRoles(given)).toEqual(want);
});
