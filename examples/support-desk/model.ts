import { detectModel, type Model } from 'millrace'
import { scriptedProvider } from './scripted.ts'

/** Who answers: the model of a key or of this machine, else a script. */
export interface DeskModel {
  readonly model: Model
  /** A line for people. */
  readonly about: string
  close(): Promise<void>
}

export async function deskModel({ MILLRACE_MODEL } = process.env): Promise<DeskModel> {
  const found = MILLRACE_MODEL === 'simulator' ? undefined : await detectModel()
  if (found?.model) return { model: found.model, about: `Model: ${found.why}.`, close: async () => {} }
  const why = found ? 'since there is no key and no local model' : 'as MILLRACE_MODEL says'
  const about = `Model: the provider simulator, ${why}. It answers by keyword over a real socket; the tools really run.`
  return { ...(await scriptedProvider()), about }
}
