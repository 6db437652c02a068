import { copy } from '../copy-button.tsx'
import { clockTime, duration } from '../format.ts'
import { JsonTree } from '../json/json-tree.tsx'
import { JsonView } from '../json/json-view.tsx'
import { curlOf } from './curl.ts'
import type { Exchange, ExchangesState } from './exchanges.ts'
import { Frames } from './frames.tsx'
import { errorText, Problem } from './head.tsx'
import { Section } from './list.tsx'

/** The exact requests and responses of a round. */
export function ExchangeList({
  state,
  isRunning,
}: {
  readonly state: ExchangesState
  readonly isRunning: boolean
}) {
  const { exchanges, problem, refresh } = state
  const text = problem ?? statusText(exchanges, isRunning)
  return (
    <Section title="Requests">
      {text && (
        <p class="quiet">
          {text}{' '}
          {(isRunning || problem) && (
            <button type="button" onClick={refresh}>
              Refresh
            </button>
          )}
        </p>
      )}
      {exchanges?.map((exchange) => (
        <ExchangeView key={exchange.attempt} exchange={exchange} />
      ))}
    </Section>
  )
}

function statusText(exchanges: ExchangesState['exchanges'], isArriving: boolean): string {
  if (!exchanges) return 'Loading…'
  if (isArriving) return 'The response is still arriving.'
  if (exchanges.length > 0) return ''
  return 'Not stored. The process kept its requests only in memory, and has exited or discarded them.'
}

function ExchangeView({ exchange }: { readonly exchange: Exchange }) {
  const { attempt, model, provider, at, ms, error, wire, request } = exchange
  const title = `Attempt ${attempt}`
  const state = ms === undefined ? 'still running' : `took ${duration(ms)}`
  return (
    <article aria-label={title}>
      <p>{`${title}: ${model} (${provider}), ${clockTime(at)}, ${state}`}</p>
      <Problem text={errorText(error)} />
      {wire.map((one, place) => (
        <WireView key={place} wire={one} />
      ))}
      {wire.length === 0 && <JsonView label="Model request (not sent over HTTP)" value={request} />}
    </article>
  )
}

/** One HTTP request and its response. */
function WireView({ wire }: { readonly wire: Exchange['wire'][number] }) {
  const { url, headers, body, status, responseHeaders, response = '', cut } = wire
  // Server-sent events, guessed from the first line.
  const isStream = /^(event|data|id|retry|):/.test(response)
  return (
    <>
      <p class="mono">
        {body ? 'POST' : 'GET'} {url} <b>{status ?? 'no response'}</b>
      </p>
      {cut && <p class="quiet">Too long to record in full. Only the beginning is shown.</p>}
      <JsonTree name="Request headers" value={headers} open={0} />
      <JsonView label="Request body" text={body} open={1}>
        <button type="button" class="plain" onClick={() => copy(curlOf(wire))}>
          Copy as curl
        </button>
      </JsonView>
      <JsonTree name="Response headers" value={responseHeaders ?? {}} open={0} />
      {response && (
        <JsonView
          label="Response body"
          text={response}
          {...(isStream && { first: 'Frames', views: { Frames: () => <Frames text={response} /> } })}
        />
      )}
    </>
  )
}
