import type { AgentDetails } from 'millrace/client'
import { CopyButton } from '../copy-button.tsx'
import '../detail/detail.css'
import type { Fact } from '../detail/head.tsx'
import { Facts } from '../detail/head.tsx'
import { List, Section } from '../detail/list.tsx'
import { duration, number } from '../format.ts'
import { Disclosure } from '../json/disclosure.tsx'
import { JsonView } from '../json/json-view.tsx'
import { visible } from '../json/visible.ts'
import type { Session } from '../session.ts'
import './agent-view.css'
import { useAgent } from './use-agent.ts'

export interface AgentViewProps {
  readonly agent: string
  /** The agent of this thread. */
  readonly session?: Session | undefined
}

/** How an agent is set up: its prompt, tools, rules, models and limits. */
export function AgentView({ agent, session }: AgentViewProps) {
  const { name, details, problem, isForbidden, retry } = useAgent(agent, session)
  return (
    <div class="detail">
      <h2>{name}</h2>
      {!details && !problem && <p class="quiet">Loading…</p>}
      {problem && (
        <p role="alert">
          {problem}{' '}
          {!isForbidden && (
            <button type="button" onClick={retry}>
              Retry
            </button>
          )}
        </p>
      )}
      {details && <Details details={details} />}
    </div>
  )
}

function Details({ details }: { readonly details: AgentDetails }) {
  const { description, starters = [], system, tools, models, rules = [], limits, budget, output } = details
  const settings = { ...details.settings, ...(details.toolChoice && { toolChoice: details.toolChoice }) }
  return (
    <>
      {description && <p>{description}</p>}
      {details.isSimulated && <p class="quiet">Its answers, token counts and costs are simulated.</p>}
      <List title="Notices" items={details.notices ?? []}>
        {(notice) => notice}
      </List>
      <Section title="Prompt">
        {system ? (
          <div class="agent-prompt">
            <CopyButton text={() => system} label="Copy prompt" />
            <div>{visible(system)}</div>
          </div>
        ) : (
          <p class="quiet">It has no system prompt.</p>
        )}
      </Section>
      <Section title={`Tools (${tools.length})`}>
        {tools.length === 0 && <p class="quiet">It has no tools.</p>}
        {tools.map((tool) => (
          <div key={tool.name} class="agent-tool">
            <h4>
              <code>{tool.name}</code>
              {tool.strict && <span class="quiet"> strict</span>}
            </h4>
            <p>{visible(tool.description)}</p>
            <Disclosure line="Input schema">
              {() => <JsonView label={`Schema of ${tool.name}`} value={tool.inputSchema} open={3} />}
            </Disclosure>
          </div>
        ))}
      </Section>
      <Section title="Rules">
        {rules.length === 0 ? (
          <p class="quiet">It has no rules for tool calls. A tool may still ask for approval itself.</p>
        ) : (
          <ol class="agent-rules">
            {rules.map((rule, place) => (
              <li key={place}>
                <code>{rule}</code>
              </li>
            ))}
          </ol>
        )}
      </Section>
      <List title="Models" items={models}>
        {({ id, provider, contextTokens, isFallback, isSimulated }) => [
          <code>{id}</code>,
          ' ',
          [
            !isSimulated && provider,
            contextTokens !== undefined && `${number(contextTokens)} tokens of context`,
            isFallback && 'only if the ones before it fail',
            isSimulated && 'simulated',
          ]
            .filter(Boolean)
            .join(', '),
        ]}
      </List>
      <Section title="Limits">
        <Facts facts={Object.entries(limits).map(limitFact)} />
      </Section>
      {Object.keys(settings).length > 0 && (
        <Section title="Settings">
          <JsonView label="Model settings" value={settings} />
        </Section>
      )}
      {budget && (
        <Section title="Budget">
          <JsonView label="Budget per run" value={budget} />
        </Section>
      )}
      {output && (
        <Section title="Output">
          <JsonView label="Schema of the answer" value={output} />
        </Section>
      )}
      <List title="Starters" items={starters}>
        {(starter) => starter}
      </List>
    </>
  )
}

/** By the name of the option of `agent()`. */
const limitLabels: Readonly<Record<string, string>> = {
  maxRounds: 'Rounds per run',
  maxCallsPerRound: 'Calls per round',
  toolConcurrency: 'Calls at the same time',
  runMs: 'Time per run',
  firstEventMs: 'Time to the first event',
  idleMs: 'Time between events',
  toolTimeoutMs: 'Time per call',
  maxResultChars: 'Characters per result',
  maxContextTokens: 'Tokens of context',
}

function limitFact([name, value]: readonly [string, number]): Fact {
  return [limitLabels[name] ?? name, name.endsWith('Ms') ? duration(value) : number(value)]
}
