import type { Paid, RoundView, ToolResultEvent } from 'millrace/view'
import { simulatedPrices } from 'millrace/view'
import { paidText } from '../cost.ts'
import { clockTime, duration } from '../format.ts'
import { visible } from '../json/visible.ts'
import type { Session } from '../session.ts'
import { ContextSection } from './cost-section.tsx'
import { ExchangeList } from './exchange-list.tsx'
import { useExchanges } from './exchanges.ts'
import { finishOf, roundMs } from './figures.ts'
import { errorText, Head, Problem } from './head.tsx'
import { Inputs } from './inputs.tsx'
import { callLink, runLink } from './links.tsx'
import { List } from './list.tsx'
import { factsOf, tokenFigures } from './measures.ts'
import { RoundActions } from './run-actions.tsx'
import { Tools } from './tools.tsx'

export interface RoundDetailProps {
  readonly session: Session
  readonly round: RoundView
  /** The current time, or the end of the run. */
  readonly at: number
}

export function RoundDetail({ session, round, at }: RoundDetailProps) {
  const exchanges = useExchanges(session.thread, round)
  const { end, retracted, calls } = round
  return (
    <>
      <Head
        path={runLink(round.run)}
        title={`Round ${round.number}`}
        seq={round.seq}
        facts={[
          ['Model', round.model],
          ['Finish', finishOf(round)],
          ['Started', clockTime(round.startedAt)],
          ['Duration', duration(roundMs(round) ?? at - round.startedAt)],
          ['Cost', paidText(end)],
          // The cost says whether it is simulated.
          ['Prices', end?.cost?.prices !== simulatedPrices && end?.cost?.prices],
          ...factsOf(tokenFigures(round)),
        ]}
      >
        <Problem text={errorText(end?.error)} />
        <Problem
          text={
            retracted &&
            `Retracted at ${clockTime(retracted.at)}: ${retracted.reason}${costed(retracted.failed)}`
          }
        />
      </Head>
      <RoundActions session={session} round={round} />
      <List title="Retries" items={round.retries}>
        {({ retry: { attempt, model, delayMs, error, failed } }) =>
          `Attempt ${attempt}, ${model}, after ${duration(delayMs)}: ${errorText(error)}${costed(failed)}`
        }
      </List>
      <ContextSection use={end?.context} />
      <Inputs title="New inputs" inputs={round.inputs} />
      <Tools calls={calls} offered={exchanges.exchanges?.at(-1)?.tools} />
      <List
        title="Schema errors"
        items={calls.filter(({ problem, result }) => problem !== undefined || result?.status === 'rejected')}
      >
        {(call) => [callLink(call, call.name), call.problem ?? call.result?.output.map(textOf)]}
      </List>
      {!session.isReadOnly && <ExchangeList state={exchanges} isRunning={round.endedAt === undefined} />}
    </>
  )
}

/** What a failed request cost. */
function costed(failed: Paid | undefined): string {
  const text = paidText(failed)
  return text ? `. The failed request cost: ${text}` : ''
}

/** Why a call was not run, as reported to the model. */
const textOf = (part: ToolResultEvent['output'][number]) => part.type === 'text' && visible(part.text)
