import "../extensions/plan/plan.css";
import "../extensions/extensions.css";
import { Button, Title } from "@patternfly/react-core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import type { InstallForm } from "../../../../pkg/consoleapi/install.ts";
import { ExtensionPlan } from "../../../../pkg/consoleapi/plan.ts";
import { postJson } from "../../api/request.ts";
import { Elapsed } from "../../components/Elapsed.tsx";
import { QueryView } from "../../components/QueryView.tsx";
import { StateLabel } from "../../components/StateLabel.tsx";
import { installText as t } from "../../text/install.ts";
import { PlanDetails } from "../extensions/plan/PlanDetails.tsx";

/** The plan of the installation, which is computed on request: objects, dependencies, and permissions with their risks. */
export function InstallPlan({
  name,
  form,
  isReady,
}: {
  readonly name: string;
  readonly form: InstallForm;
  readonly isReady: boolean;
}): ReactElement {
  const [requested, setRequested] = useState<InstallForm>();
  const queries = useQueryClient();
  const queryKey = ["install-plan", name, requested];
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => postJson(`/api/packages/${encodeURIComponent(name)}/install/plan`, requested, ExtensionPlan, signal),
    enabled: requested !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const isCurrent = requested === form && !query.isError;
  const preview = (): void => {
    if (requested === form) void query.refetch();
    else setRequested(form);
  };
  return (
    <section className="olm-package-section" aria-labelledby="plan-title">
      <Title headingLevel="h2" size="lg" id="plan-title">
        {t.plan}
      </Title>
      <p className="olm-subtle">{t.planIntro}</p>
      {!isCurrent && (
        <div>
          <Button variant="secondary" isDisabled={!isReady} onClick={preview}>
            {requested === undefined ? t.preview : t.again}
          </Button>
        </div>
      )}
      {query.fetchStatus === "fetching" && (
        <Elapsed
          title={t.computing}
          note={t.computingNote}
          formatSeconds={t.elapsed}
          cancelLabel={t.cancel}
          onCancel={() => {
            void queries.cancelQueries({ queryKey });
            setRequested(undefined);
          }}
        />
      )}
      {requested !== undefined && query.fetchStatus !== "fetching" && (
        <QueryView query={query}>
          {(plan) => (
            <>
              <div>
                <StateLabel state={plan.verdict} />
              </div>
              <PlanDetails plan={plan} />
            </>
          )}
        </QueryView>
      )}
    </section>
  );
}
