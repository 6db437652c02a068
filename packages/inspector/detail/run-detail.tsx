import type { LegView, RunView } from 'millrace/view'
import { limitText } from 'millrace/view'
import { activeMs } from '../chat/outcome.ts'
import { outcomeLabels } from '../chat/strings.ts'
import { costText, paidText } from '../cost.ts'
import { clockTime, duration } from '../format.ts'
import { ContextSection, CostSection } from './cost-section.tsx'
import { firstTokenMs, roundMs, usageFacts } from './figures.ts'
import { errorText, Head, Problem } from './head.tsx'
import { Inputs } from './inputs.tsx'
import { roundLink } from './links.tsx'
import { List } from './list.tsx'
import { Tools } from './tools.tsx'

export interface RunDetailProps {
  readonly run: RunView
  /** The current time, or the end of the run. */
  readonly at: number
}

export function RunDetail({ run, at }: RunDetailProps) {
  const { outcome, legs, rounds, calls } = run
  const isShared = legs.length > 1
  return (
    <>
      <Head
        title={`Run of ${run.agent}`}
        seq={run.seq}
        facts={[
          ['Outcome', outcome ? outcomeLabels[outcome] : 'Running'],
          ['Limit', run.limit && limitText(run.limit)],
          ['Started', clockTime(run.startedAt)],
          ['Duration', duration(at - run.startedAt)],
          ['Active time', isShared && duration(activeMs(run))],
          ['Rounds', rounds.length],
          ...usageFacts(run.usage, rounds),
          ['Cost', costText(run.spent)],
          ['ID', <code>{run.id}</code>],
        ]}
      >
        <Problem text={errorText(run.error)} />
      </Head>
      <Inputs title="Inputs" inputs={run.inputs} />
      <List title="Rounds" items={rounds}>
        {(round) => [
          roundLink(round),
          joinParts(
            round.model,
            round.end?.finish ?? (round.retracted ? 'retracted' : 'running'),
            durationText(firstTokenMs(round), 'to the first token'),
            durationText(roundMs(round), 'total'),
            `${round.calls.length} calls`,
            paidText(round.end),
          ),
        ]}
      </List>
      <Tools calls={calls} />
      <CostSection title="Cost" runs={[run]} />
      <ContextSection use={run.context} />
      <List title="Processes" items={isShared ? legs : []}>
        {(leg) => [
          joinParts(
            `${legLabels[leg.why]} at ${clockTime(leg.at)}`,
            leg.losses > 0 && `after ${leg.losses} lost`,
            leg.endedAt === undefined ? undefined : duration(leg.endedAt - leg.at),
            leg.outcome ? outcomeLabels[leg.outcome] : leg === legs.at(-1) ? 'running' : 'lost',
          ),
          ' ',
          <code>{leg.runId}</code>,
        ]}
      </List>
    </>
  )
}

const legLabels: Readonly<Record<LegView['why'], string>> = {
  first: 'Started',
  lost: 'Taken over',
  person: 'Resumed after a decision',
}

const joinParts = (...words: (string | false | undefined)[]) => words.filter(Boolean).join(', ')

const durationText = (ms: number | undefined, what: string) =>
  ms === undefined ? undefined : `${duration(ms)} ${what}`
