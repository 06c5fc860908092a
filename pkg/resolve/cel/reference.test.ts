import { expect, test } from "vitest";
import { CelGenerator, type CelPair, printCel } from "../../../test/support/celExpressions.ts";
import { judgeByReference } from "../../../test/support/celReference.ts";
import { Undecided } from "../../../test/support/celReferenceTypes.ts";
import { type CelVerdict, judgeRule } from "../../../test/support/celVerdict.ts";
import { chooseRuns } from "../../../test/support/manyRuns.ts";
import { createRandom } from "../../../test/support/random.ts";
import { CelRules } from "./celRules.ts";

const SEED = 21;
const PAIRS = chooseRuns(25_000);
const MAX_RULE = 1_024;

function judgeIndependently({ rule, properties }: CelPair): CelVerdict | undefined {
  try {
    return judgeByReference(rule, properties);
  } catch (err) {
    if (err instanceof Undecided) return undefined;
    throw err;
  }
}

test("CelRules has the verdict of an independent evaluator when rules and properties are random", () => {
  const generator = new CelGenerator(createRandom(SEED));
  const cel = new CelRules();
  const counts = { malformed: 0, error: 0, true: 0, false: 0, undecided: 0 };
  for (let number = 0; number < PAIRS; number++) {
    const pair = generator.generate();
    const rule = printCel(pair.rule);
    const expected = judgeIndependently(pair);
    counts[expected ?? "undecided"]++;
    if (expected === undefined || rule.length > MAX_RULE) continue;
    const got = judgeRule(cel, rule, pair.properties);
    if (got !== expected)
      expect.fail(`seed ${SEED}, pair ${number}: ${rule} is ${got}, expected ${expected}, for ${JSON.stringify(pair.properties)}`);
  }
  // The generator reaches every verdict often, so that the comparison means something.
  expect(Math.min(counts.malformed, counts.error, counts.true, counts.false)).toBeGreaterThan(PAIRS / 20);
  expect(counts.undecided).toBeLessThan(PAIRS / 5);
});
