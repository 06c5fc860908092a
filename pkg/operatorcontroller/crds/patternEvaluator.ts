import { createContext, Script } from "node:vm";

/** Time limit for all patterns together, in milliseconds: a malicious pattern could run forever. */
const TIMEOUT_MS = 250;
const LONGEST_TEXT = 4_096;
const MOST_QUESTIONS = 20_000;
/** Maximum total length of all texts and patterns, in characters. */
const MOST_CHARACTERS = 4_000_000;
/** Flags at the start of an RE2 pattern, which JavaScript does not support there. */
const INLINE_FLAGS = /^\(\?([is]+)\)/;

/** Runs in a separate context, in which the time limit also ends an endless match. */
const EVALUATE = new Script(`
for (let at = 0; at < questions.length; at++) {
  const [pattern, flags, text] = questions[at];
  let expression;
  try { expression = new RegExp(pattern, flags + "u"); } catch { try { expression = new RegExp(pattern, flags); } catch {} }
  answers[at] = expression?.test(text);
}`);

type PatternTask = [pattern: string, flags: string, text: string];

/**
 * Matches texts against untrusted patterns in two rounds. In the first round, `matches` records the text and pattern and returns true. `evaluate`
 * then evaluates all of them within a time limit. In the second round, `matches` returns the results.
 */
export class PatternEvaluator {
  readonly #questions = new Map<string, PatternTask>();
  #answers: ReadonlyMap<string, boolean | undefined> | undefined;
  readonly #timeoutMs: number;
  #unknown = false;
  #long = false;
  #characters = 0;

  constructor(timeoutMs: number = TIMEOUT_MS) {
    this.#timeoutMs = timeoutMs;
  }

  /** Whether the first round recorded questions. */
  get hasQuestions(): boolean {
    return this.#questions.size > 0 || this.#long;
  }

  /** Whether a match has no result because JavaScript does not support the pattern, the text is too long, or the time limit was reached. */
  get someUnknown(): boolean {
    return this.#unknown;
  }

  readonly matches = (pattern: string, text: string): boolean | undefined => {
    if (text.length > LONGEST_TEXT) {
      this.#long = true;
      this.#unknown ||= this.#answers !== undefined;
      return this.#answers ? undefined : true;
    }
    const key = JSON.stringify([pattern, text]);
    if (this.#answers) {
      const answer = this.#answers.get(key);
      this.#unknown ||= answer === undefined;
      return answer;
    }
    const hasRoom = this.#questions.size < MOST_QUESTIONS && this.#characters < MOST_CHARACTERS;
    if (hasRoom && !this.#questions.has(key)) {
      this.#characters += key.length;
      const [head = "", flags = ""] = INLINE_FLAGS.exec(pattern) ?? [];
      this.#questions.set(key, [pattern.slice(head.length), flags, text]);
    }
    return true;
  };

  /** Evaluates the recorded questions. */
  evaluate(): void {
    const answers: (boolean | undefined)[] = [];
    const context = createContext({ questions: [...this.#questions.values()], answers });
    try {
      EVALUATE.runInContext(context, { timeout: Math.ceil(this.#timeoutMs) });
    } catch (err) {
      // The results so far are valid. The remaining results are unknown.
      if ((err as { code?: string }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw err;
    }
    this.#answers = new Map([...this.#questions.keys()].map((key, index) => [key, answers[index]]));
  }
}
