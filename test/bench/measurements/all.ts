import type { Measurement } from "../measurement.ts";
import { catalogGrowthMeasurement } from "./catalogGrowth.ts";
import { commandLineMeasurement } from "./commandLine.ts";
import { consoleMeasurement } from "./console.ts";
import { crdMeasurement } from "./crd.ts";
import { dependenciesMeasurement } from "./dependencies.ts";
import { httpMeasurement } from "./http.ts";
import { installMeasurement } from "./install.ts";
import { largeCatalogMeasurement } from "./largeCatalog.ts";
import { managedMeasurement } from "./managed.ts";
import { manyMeasurement } from "./many.ts";
import { manyCatalogsMeasurement } from "./manyCatalogs.ts";
import { renderMeasurement } from "./render.ts";
import { resolveMeasurement } from "./resolve.ts";
import { restMeasurement } from "./rest.ts";
import { solverMeasurement } from "./solver.ts";
import { steadyStateMeasurement } from "./steadyState.ts";
import { thousandMeasurement } from "./thousand.ts";
import { unpackMeasurement } from "./unpack.ts";
import { watchesMeasurement } from "./watches.ts";

/** All measurements in their default order. */
export const MEASUREMENTS: readonly Measurement[] = [
  resolveMeasurement,
  solverMeasurement,
  dependenciesMeasurement,
  renderMeasurement,
  crdMeasurement,
  commandLineMeasurement,
  unpackMeasurement,
  httpMeasurement,
  largeCatalogMeasurement,
  catalogGrowthMeasurement,
  restMeasurement,
  installMeasurement,
  manyMeasurement,
  managedMeasurement,
  thousandMeasurement,
  manyCatalogsMeasurement,
  watchesMeasurement,
  consoleMeasurement,
  steadyStateMeasurement,
];
