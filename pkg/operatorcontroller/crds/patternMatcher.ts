import { createContext, Script } from "node:vm";

/** How long all patterns together may take, in milliseconds: one may be made to take for ever. */
const TIMEOUT_MS = 250;
const LONGEST_TEXT = 4_096;
const MOST_QUESTIONS = 20_000;
/** Of all questions. */
const MOST_CHARACTERS = 4_000_000;
/** RE2's way to set flags; JavaScript has none at this place. */
const INLINE_FLAGS = /^\(\?([is]+)\)/;

/** Runs in a context of its own, where a time limit ends also a search that goes on for ever. */
const ANSWER = new Script(`
for (let at = 0; at < questions.length; at++) {
  const [pattern, flags, text] = questions[at];
  let expression;
  try { expression = new RegExp(pattern, flags + "u"); } catch { try { expression = new RegExp(pattern, flags); } catch {} }
  answers[at] = expression?.test(text);
}`);

type Question = [pattern: string, flags: string, text: string];

/**
 * Whether texts match patterns that nobody vouches for. Questions are noted in a first look at the objects, where every text matches;
 * `answer` answers all of them within a time limit, for the second look.
 */
export class Patterns {
  readonly #questions = new Map<string, Question>();
  #answers: ReadonlyMap<string, boolean | undefined> | undefined;
  readonly #timeoutMs: number;
  #unknown = false;
  #long = false;
  #characters = 0;
  #tookMs = 0;

  constructor(timeoutMs: number = TIMEOUT_MS) {
    this.#timeoutMs = timeoutMs;
  }

  /** Whether there is a question to answer. */
  get isAsked(): boolean {
    return this.#questions.size > 0 || this.#long;
  }

  /** How long `answer` took, in milliseconds. */
  get tookMs(): number {
    return this.#tookMs;
  }

  /** Whether there was a question without an answer: a pattern that JavaScript has not, a long text, no time left. */
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
    const isAsked = this.#questions.size < MOST_QUESTIONS && this.#characters < MOST_CHARACTERS;
    if (isAsked && !this.#questions.has(key)) {
      this.#characters += key.length;
      const [head = "", flags = ""] = INLINE_FLAGS.exec(pattern) ?? [];
      this.#questions.set(key, [pattern.slice(head.length), flags, text]);
    }
    return true;
  };

  /** Answers what was asked so far. */
  answer(): void {
    const answers: (boolean | undefined)[] = [];
    const began = performance.now();
    const context = createContext({ questions: [...this.#questions.values()], answers });
    try {
      ANSWER.runInContext(context, { timeout: Math.ceil(this.#timeoutMs) });
    } catch (err) {
      // What was answered in time holds; the rest stays unknown.
      if ((err as { code?: string }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw err;
    }
    this.#tookMs = performance.now() - began;
    this.#answers = new Map([...this.#questions.keys()].map((key, index) => [key, answers[index]]));
  }
}
