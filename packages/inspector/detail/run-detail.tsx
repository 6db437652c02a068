import type { LegView, RunView } from 'millrace/view'
import { outcomeWords, workedMs } from '../chat/outcome.ts'
import { clockTime, duration } from '../format.ts'
import { firstTokenMs, roundMs, usageFacts } from './figures.ts'
import { Fault, failureWords, Head } from './head.tsx'
import { Heard } from './heard.tsx'
import { roundLink } from './links.tsx'
import { List } from './list.tsx'
import { Tools } from './tools.tsx'

export interface RunDetailProps {
  readonly run: RunView
  /** The time up to which it has gone. */
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
          ['Outcome', outcome ? outcomeWords[outcome] : 'Goes on'],
          ['Began', clockTime(run.startedAt)],
          ['Took', duration(at - run.startedAt)],
          ['Worked on', isShared && `for ${duration(workedMs(run))}`],
          ['Rounds', rounds.length],
          ...usageFacts(run.usage, rounds),
          ['Id', <code>{run.id}</code>],
        ]}
      >
        <Fault text={failureWords(run.error)} />
      </Head>
      <Heard title="What it heard" said={run.inputs} />
      <List title="Rounds" items={rounds}>
        {(round) => [
          roundLink(round),
          listed(
            round.model,
            round.end?.finish ?? (round.retracted ? 'taken back' : 'goes on'),
            after(firstTokenMs(round), 'to the first token'),
            after(roundMs(round), 'in all'),
            `${round.calls.length} calls`,
          ),
        ]}
      </List>
      <Tools calls={calls} />
      <List title="Processes" items={isShared ? legs : []}>
        {(leg) => [
          listed(
            `${began[leg.why]} at ${clockTime(leg.at)}`,
            leg.losses > 0 && `after ${leg.losses} lost`,
            after(leg.endedAt && leg.endedAt - leg.at, 'long'),
            leg.outcome ? outcomeWords[leg.outcome] : leg === legs.at(-1) ? 'goes on' : 'lost',
          ),
          ' ',
          <code>{leg.runId}</code>,
        ]}
      </List>
    </>
  )
}

const began: Readonly<Record<LegView['why'], string>> = {
  first: 'Began',
  lost: 'Taken over',
  person: 'Went on after a decision',
}

const listed = (...words: (string | false | undefined)[]) => words.filter(Boolean).join(', ')

const after = (ms: number | undefined, what: string) =>
  ms === undefined ? undefined : `${duration(ms)} ${what}`
