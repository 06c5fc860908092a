import { newProblem, type Problem } from "../../api/problems.ts";
import { listFailedLocations } from "../imageErrors.ts";
import { RegistryError } from "../registry/registryError.ts";

/** Types of the problems of failed pulls. */
type PullProblemType = "ImagePullFailed" | "RegistryUnavailable";

/** Codes of failed or broken connections. */
const NETWORK = /^(E(CONN|HOST|NET|PIPE|TIMEDOUT|AI_|PROTO)|UND_ERR_|UNABLE_TO_)|^ENOTFOUND$|CERT/;

/** Yields an error, its causes, and the errors of an AggregateError among them. */
export function* causesOf(error: unknown): Generator<Error> {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    yield cause;
    if (cause instanceof AggregateError) for (const one of cause.errors) if (one instanceof Error) yield one;
  }
}

/** Returns whether one of the errors has the code of a failed or broken connection. */
export function isUnreachable(errors: readonly Error[]): boolean {
  return errors.some((error) => "code" in error && NETWORK.test(String(error.code)));
}

/**
 * Returns the problem type of a failed pull, if the error does not specify one: RegistryUnavailable
 * if the registry does not respond or denies the request, otherwise ImagePullFailed.
 */
export function getPullProblemType(error: unknown): PullProblemType {
  const chain = [...causesOf(error)];
  const answer = chain.find((cause) => cause instanceof RegistryError);
  if (answer) return answer.status === 404 ? "ImagePullFailed" : "RegistryUnavailable";
  return isUnreachable(chain) || chain.some(({ name }) => name === "TimeoutError") ? "RegistryUnavailable" : "ImagePullFailed";
}

/** Returns the problem of a failed pull, with the locations that were tried. */
export function newPullProblem(error: unknown, message: string, type: PullProblemType = getPullProblemType(error)): Problem {
  return newProblem(type, { message, details: listFailedLocations(error) });
}
