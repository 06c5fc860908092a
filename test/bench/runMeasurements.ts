import { getErrorMessage } from "../../pkg/errors/errors.ts";
import { type BenchContext, type Figure, type Measurement, Skipped } from "./measurement.ts";

/** Outcome of one measurement. Figures that were measured before a failure are kept. */
export interface Outcome {
  readonly name: string;
  readonly figures: readonly Figure[];
  /** Reason why it was skipped. */
  readonly skipped?: string;
  /** Reason why it failed. */
  readonly failed?: string;
}

/** Runs the measurements sequentially; continues after a failure. */
export async function runMeasurements(measurements: readonly Measurement[], context: BenchContext): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const measurement of measurements) outcomes.push(await runMeasurement(measurement, context));
  return outcomes;
}

async function runMeasurement(measurement: Measurement, context: BenchContext): Promise<Outcome> {
  const { name } = measurement;
  const say = (line: string): void => context.say(`${name}: ${line}`);
  const figures: Figure[] = [];
  try {
    for await (const figure of measurement.run({ ...context, say })) figures.push(figure);
    return { name, figures };
  } catch (err) {
    if (err instanceof Skipped) {
      say(`skipped: ${err.message}`);
      return { name, figures, skipped: err.message };
    }
    say(`failed: ${getErrorMessage(err)}`);
    return { name, figures, failed: getErrorMessage(err) };
  }
}
