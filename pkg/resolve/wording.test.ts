import * as fc from "fast-check";
import { expect, test } from "vitest";
import { RESOLUTION_MESSAGE_MAX, truncateForCondition } from "./wording.ts";

test("truncateForCondition keeps a message of up to 2,000 characters", () => {
  const text = "x".repeat(RESOLUTION_MESSAGE_MAX);
  expect(truncateForCondition(text, "p")).toBe(text);
});

test("truncateForCondition truncates a longer message between characters and refers to the full text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 2_001, maxLength: 2_400 }), (text) => {
      fc.pre(text.length > RESOLUTION_MESSAGE_MAX);
      const cut = truncateForCondition(text, "my-operator");
      const [kept = "", note] = cut.split("... (truncated; ");
      expect(cut.length).toBeLessThanOrEqual(RESOLUTION_MESSAGE_MAX);
      expect(cut.length).toBeGreaterThan(RESOLUTION_MESSAGE_MAX - 2);
      expect(cut.isWellFormed()).toBe(true);
      expect(text.startsWith(kept)).toBe(true);
      expect(note).toBe("full text: olmv1 resolve my-operator --explain, or /debug/resolution/my-operator of operator-controller)");
    }),
  );
});
