import { expect, test } from "vitest";
import { Search } from "./search.ts";
import { negate } from "./trail.ts";

test("a clause that was added while a later assumption made it true is followed without that assumption", () => {
  const search = new Search(1_000);
  const [bundle, dependency] = [search.newVariable(), search.newVariable()];
  expect(search.conflictOf([bundle, dependency])).toBeUndefined();
  search.addClause([negate(bundle), dependency]);
  expect(search.conflictOf([bundle])).toBeUndefined();
  expect(search.trueLiterals()).toEqual([bundle, dependency]);
});
