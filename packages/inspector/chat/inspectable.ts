import { createContext } from 'preact'

/** Whether rows link to the inspector. Those of a replay or a sub-agent do not: see `Rows`. */
export const Inspectable = createContext(true)
