import type { AnswerCall, AnswerEnd, AnswerWriter } from './answer-writer.ts'

/**
 * Writes one line for each call. Throws if it is called in an order that a writer need not
 * expect.
 */
export function recordingWriter(): AnswerWriter & { readonly ended: AnswerEnd | undefined } {
  let hasStarted = false
  let part: string | undefined
  let ended: AnswerEnd | undefined
  let calls = new Map<AnswerCall, { state: 'open' | 'complete' | 'done'; text: string }>()

  function check(condition: unknown, what: string) {
    if (!condition) throw new Error(what)
  }

  function line(text: string) {
    check(hasStarted && !ended, `${text} outside of the response`)
    return `${text}\n`
  }

  function known(call: AnswerCall, states: readonly string[], what: string) {
    const found = calls.get(call)
    check(found && states.includes(found.state), `${what} of ${call.callId}, which is ${found?.state}`)
    return found as { state: 'open' | 'complete' | 'done'; text: string }
  }

  return {
    get ended() {
      return ended
    },
    start() {
      check(!hasStarted, 'started twice')
      hasStarted = true
      return line('start')
    },
    roundStart() {
      check(!part, 'a round starts while a part is open')
      return line('round')
    },
    delta(kind, delta) {
      check(delta, 'an empty delta')
      check(!part || part === kind, `${kind} while ${part} is open`)
      part = kind
      return line(`${kind} ${delta}`)
    },
    closePart(kind) {
      check(part === kind, `${kind} is closed, but ${part} is open`)
      part = undefined
      return line(`/${kind}`)
    },
    callStart(call) {
      for (const [{ callId }, { state }] of calls)
        check(callId !== call.callId || state === 'done', `${callId} starts twice`)
      calls.set(call, { state: 'open', text: '' })
      return line(`${call.isClient ? 'client' : 'server'} call ${call.callId} ${call.name}`)
    },
    callDelta(call, delta) {
      known(call, ['open'], 'arguments').text += delta
      return line(`arguments ${call.callId} ${delta}`)
    },
    callComplete(call) {
      const found = known(call, ['open'], 'end')
      check(found.text === call.arguments, 'the arguments are not what was streamed')
      JSON.parse(call.arguments)
      found.state = 'complete'
      return line(`complete ${call.callId}`)
    },
    callResult(call) {
      known(call, ['complete'], 'result').state = 'done'
      check(!call.isClient && call.result, 'the result of a call that the client runs')
      return line(`result ${call.callId} ${call.result?.isError ? 'error: ' : ''}${call.result?.text}`)
    },
    callVoid(call) {
      known(call, ['open', 'complete'], 'void').state = 'done'
      return line(`void ${call.callId}`)
    },
    approvalRequest: ({ callId }) => line(`approve ${callId}`),
    retract() {
      part = undefined
      calls = new Map()
      return line('retract')
    },
    end(end) {
      check(!part, 'ends while a part is open')
      for (const [{ callId, isClient }, { state }] of calls)
        check(state === 'done' || (isClient && state === 'complete'), `ends while ${callId} is ${state}`)
      const text = line(
        ['end', end.outcome, ...[...end.waiting, ...end.approvals].map(({ callId }) => callId)].join(' '),
      )
      ended = end
      return text
    },
  }
}
