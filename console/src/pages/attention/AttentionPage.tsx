import { PageSection, Title } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { Link } from "react-router";
import { useLive } from "../../app/consoleState.tsx";
import { PageTitle } from "../../app/PageTitle.tsx";
import { StateLabel } from "../../components/StateLabel.tsx";
import { text } from "../../text/en.ts";

/** The start page: what needs attention. */
export default function AttentionPage(): ReactElement {
  const { extensions } = useLive();
  const rows = [...extensions.values()].filter(({ attention }) => attention !== undefined);
  return (
    <PageSection>
      <PageTitle title={text.navigation.attention} />
      <Title headingLevel="h1">{text.navigation.attention}</Title>
      <ul>
        {rows.map(({ name, state, attention }) => (
          <li key={name}>
            <Link to={`/extensions/${name}`}>{name}</Link> <StateLabel state={state} /> {attention?.sentence}
          </li>
        ))}
      </ul>
    </PageSection>
  );
}
