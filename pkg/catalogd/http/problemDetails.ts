import * as z from "zod";
import type { Answer } from "./answer.ts";
import { PROBLEMS, type Problem, type ProblemCode } from "./problem.ts";

/** Media type of problem details. @see RFC 9457 */
export const PROBLEM_TYPE = "application/problem+json";

/** Problem details as they are sent. @see RFC 9457 */
export const ProblemDetails = z
  .object({
    type: z.string().describe("URI of the kind of problem: `urn:olmv1:problem:` and the code"),
    title: z.string().describe("the kind of problem in words"),
    status: z.number().int().describe("the HTTP status"),
    detail: z.string().describe("what is wrong with this request and what to do"),
    instance: z.string().describe("path of the request"),
    code: z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]).describe("stable name of the kind of problem, for programs"),
  })
  .meta({ id: "Problem", description: "Why a request failed, as RFC 9457 has it." });

const MAX_INSTANCE = 1_024;

/** The form in which an answer with a problem is sent as problem details; its other headers stay. @param url as it was sent. */
export function asProblemDetails(answer: Answer, { code, detail }: Problem, url: string): Answer {
  const instance = (url.split("?", 1)[0] ?? "").slice(0, MAX_INSTANCE);
  const { title } = PROBLEMS[code];
  const details: z.infer<typeof ProblemDetails> = {
    type: `urn:olmv1:problem:${code}`,
    title,
    status: answer.status,
    detail,
    instance,
    code,
  };
  const bytes = Buffer.from(`${JSON.stringify(details)}\n`);
  const type = { "content-type": PROBLEM_TYPE, "x-content-type-options": "nosniff" };
  return {
    ...answer,
    headers: { ...answer.headers, ...type, vary: "Accept-Encoding, Accept", "content-length": bytes.length },
    body: { kind: "bytes", bytes },
  };
}

/** Whether a client that sent this Accept wants failures as problem details: it has to name the type, wildcards do not. */
export function wantsProblemDetails(accept: string | undefined): boolean {
  if (!accept?.toLowerCase().includes(PROBLEM_TYPE)) return false;
  return accept.split(",").some((piece) => {
    const [type = "", ...parameters] = piece.split(";").map((part) => part.trim().toLowerCase());
    return type === PROBLEM_TYPE && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
