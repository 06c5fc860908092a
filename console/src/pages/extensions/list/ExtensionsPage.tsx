import { PageSection, Title } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { useLive } from "../../../app/consoleState.tsx";
import { PageTitle } from "../../../app/PageTitle.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { text } from "../../../text/en.ts";

/** All extensions of the cluster. */
export default function ExtensionsPage(): ReactElement {
  const { extensions } = useLive();
  return (
    <PageSection>
      <PageTitle title={text.navigation.extensions} />
      <Title headingLevel="h1">{text.navigation.extensions}</Title>
      {[...extensions.values()].map(({ name, state }) => (
        <p key={name}>
          {name} <StateLabel state={state} />
        </p>
      ))}
    </PageSection>
  );
}
