import type { LegView, RoundView, RunView } from 'millrace/view'
import { limitText } from 'millrace/view'
import { runTimes } from '../chat/outcome.ts'
import { outcomeLabels } from '../chat/strings.ts'
import { modelsOf } from '../compare/sides.ts'
import { shortCost } from '../cost.ts'
import { clockTime, duration, number } from '../format.ts'
import type { Session } from '../session.ts'
import { ContextSection, CostSection, compactionsIn } from './cost-section.tsx'
import { finishOf, firstTokenMs, roundMs } from './figures.ts'
import { errorText, Head, Problem } from './head.tsx'
import { Inputs } from './inputs.tsx'
import { roundLink } from './links.tsx'
import { List, Section } from './list.tsx'
import { factsOf, runFigures, spentOnRound } from './measures.ts'
import { RunActions } from './run-actions.tsx'
import type { Column } from './table.tsx'
import { Table } from './table.tsx'
import { Tools } from './tools.tsx'

export interface RunDetailProps {
  readonly session: Session
  readonly run: RunView
  /** The current time, or the end of the run. */
  readonly at: number
}

export function RunDetail({ session, run, at }: RunDetailProps) {
  const { outcome, legs, rounds, calls } = run
  const { activeMs, totalMs } = runTimes(run, at)
  return (
    <>
      <Head
        title={`Run of ${run.agent}`}
        seq={run.seq}
        facts={[
          ['Outcome', outcome ? outcomeLabels[outcome] : 'Running'],
          ['Limit', run.limit && limitText(run.limit)],
          ['Started', clockTime(run.startedAt)],
          ['From start to end', totalMs > activeMs && duration(totalMs)],
          ...factsOf(runFigures(run, at)),
          ['Model', modelsOf({ run })],
          ['ID', <code>{run.id}</code>],
        ]}
      >
        <Problem text={errorText(run.error)} />
      </Head>
      <RunActions session={session} run={run} />
      <Inputs title="Inputs" inputs={run.inputs} />
      {rounds.length > 0 && (
        <Section title="Rounds">
          <Table label="Rounds" columns={columnsOf(run)} rows={rounds} keyOf={({ seq }) => seq} />
        </Section>
      )}
      <Tools calls={calls} />
      <CostSection runs={[run]} />
      <ContextSection use={run.context} compacted={compactionsIn(session.log, run)} />
      <List title="Processes" items={legs.length > 1 ? legs : []}>
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

/** The model is in a column of its own only if there are several. */
function columnsOf({ rounds }: RunView): readonly Column<RoundView>[] {
  const model: Column<RoundView> = { head: 'Model', cell: (round) => round.model, isExtra: true }
  return [
    { head: 'Round', cell: roundLink },
    ...(new Set(rounds.map((round) => round.model)).size > 1 ? [model] : []),
    { head: 'Finish', cell: finishOf },
    { head: 'First token', cell: (round) => timeText(firstTokenMs(round)), isNumber: true, isExtra: true },
    { head: 'Time', cell: (round) => timeText(roundMs(round)), isNumber: true },
    { head: 'In', cell: ({ end }) => tokenText(end?.usage?.inputTokens), isNumber: true, isExtra: true },
    { head: 'Out', cell: ({ end }) => tokenText(end?.usage?.outputTokens), isNumber: true, isExtra: true },
    { head: 'Calls', cell: ({ calls }) => number(calls.length), isNumber: true, isExtra: true },
    { head: 'Cost', cell: (round) => shortCost(spentOnRound(round)), isNumber: true },
  ]
}

const timeText = (ms: number | undefined) => (ms === undefined ? '–' : duration(ms))
const tokenText = (count: number | undefined) => (count === undefined ? '–' : number(count))

const joinParts = (...words: (string | false | undefined)[]) => words.filter(Boolean).join(', ')
