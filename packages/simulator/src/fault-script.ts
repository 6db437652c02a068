import type { ScriptStep } from 'millrace/testing'
import type { Fault } from './faults.ts'

type CallStep = Extract<ScriptStep, { call: string }>

/** Applies faults of the model itself. Returns undefined if the fault has no effect here. */
export function faultOnScript(steps: readonly ScriptStep[], fault: Fault): readonly ScriptStep[] | undefined {
  const calls = steps.filter((step): step is CallStep => 'call' in step)
  switch (fault.kind) {
    case 'same-call-ids':
      if (calls.length === 0) return undefined
      return steps.map((step) => ('call' in step ? { ...step, id: 'call_0' } : step))
    case 'arguments': {
      const call = calls[fault.call]
      if (!call) return undefined
      const corrupted = { ...call, raw: corrupt(rawOf(call), fault.how) }
      return steps.map((step) => (step === call ? corrupted : step))
    }
    case 'length-cut':
    case 'unclosed-call': {
      const call = calls[fault.call]
      if (!call) return undefined
      const raw = rawOf(call)
      const half = { ...call, raw: raw.slice(0, Math.max(1, raw.length / 2)), cut: true }
      const before = steps.slice(0, steps.indexOf(call)).filter((step) => !('finish' in step))
      const finish = fault.kind === 'length-cut' ? 'length' : 'stop'
      return [...before, half, ...steps.filter((step) => 'usage' in step), { finish }]
    }
    case 'empty': {
      const kept = steps.filter((step) => 'usage' in step || 'pause' in step)
      return [...kept, { finish: fault.finish ?? 'stop' }]
    }
    default:
      return undefined
  }
}

const rawOf = ({ input = {}, raw = JSON.stringify(input) }: CallStep) => raw

function corrupt(raw: string, how: Extract<Fault, { kind: 'arguments' }>['how']): string {
  switch (how) {
    case 'malformed':
      return `${raw.slice(0, -1)},}`
    case 'truncated':
      return raw.slice(0, Math.max(1, raw.length / 2))
    case 'empty':
      return ''
    case 'double-encoded':
      return JSON.stringify(raw)
  }
}
