import { messageOf } from "../../pkg/errors/errors.ts";
import { type BenchContext, type Figure, type Measurement, Skipped } from "./measurement.ts";

/** What became of one measurement. What it gave before it failed is among the figures. */
export interface Outcome {
  readonly name: string;
  readonly figures: readonly Figure[];
  /** Why it was not made. */
  readonly skipped?: string;
  /** Why it broke off. */
  readonly failed?: string;
}

/** Makes the measurements one after another; one that fails does not keep the others from being made. */
export async function runMeasurements(measurements: readonly Measurement[], context: BenchContext): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const measurement of measurements) outcomes.push(await outcomeOf(measurement, context));
  return outcomes;
}

async function outcomeOf(measurement: Measurement, context: BenchContext): Promise<Outcome> {
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
    say(`failed: ${messageOf(err)}`);
    return { name, figures, failed: messageOf(err) };
  }
}
