import * as z from "zod/mini";
import { ConsoleProblem } from "../../../pkg/consoleapi/problem.ts";
import { TOKEN_HEADER } from "../../../pkg/consoleapi/session.ts";
import { text } from "../text/en.ts";

const TOKEN_KEY = "olmv1.token";

/** A request that failed, with the server's description. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly problem: ConsoleProblem;

  constructor(problem: ConsoleProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

/** Stores the token of the session for this origin. */
export function storeToken(token: string): void {
  localStorage.setItem(TOKEN_KEY, token);
}

/** Returns the headers of every request. The console in a cluster ignores the value of the token. */
export function buildHeaders(): Record<string, string> {
  return { [TOKEN_HEADER]: localStorage.getItem(TOKEN_KEY) ?? "none", accept: "application/json" };
}

/** Reads JSON that matches the schema. @throws RequestError */
export async function getJson<T extends z.ZodMiniType>(path: string, schema: T, signal?: AbortSignal): Promise<z.output<T>> {
  return readJson(await send(path, { headers: buildHeaders(), ...(signal ? { signal } : {}) }), schema);
}

/** Sends JSON and reads JSON that matches the schema. @throws RequestError */
export async function postJson<T extends z.ZodMiniType>(
  path: string,
  body: unknown,
  schema: T,
  signal?: AbortSignal,
): Promise<z.output<T>> {
  const headers = { ...buildHeaders(), "content-type": "application/json" };
  return readJson(await send(path, { method: "POST", headers, body: JSON.stringify(body), ...(signal ? { signal } : {}) }), schema);
}

/** Sends a request. @throws RequestError if the server does not respond or responds with an error */
export async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (err) {
    if (init.signal?.aborted) throw err;
    throw new RequestError({ kind: "disconnected", message: text.errors.consoleStopped, next: text.errors.consoleStoppedNext });
  }
  if (response.ok) return response;
  throw new RequestError(await readProblem(response));
}

async function readProblem(response: Response): Promise<ConsoleProblem> {
  const parsed = z.safeParse(ConsoleProblem, await response.json().catch(() => undefined));
  if (parsed.success) return parsed.data;
  const message = text.errors.unexpectedStatus(response.status);
  // Only an authenticating proxy in front of the console responds with 401 in another form.
  return response.status === 401 ? { kind: "signedOut", message, next: text.login.proxySignedOutNext } : { kind: "failed", message };
}

async function readJson<T extends z.ZodMiniType>(response: Response, schema: T): Promise<z.output<T>> {
  const parsed = z.safeParse(schema, await response.json());
  if (parsed.success) return parsed.data;
  throw new RequestError({ kind: "failed", message: text.errors.otherVersion, next: text.errors.otherVersionNext });
}
