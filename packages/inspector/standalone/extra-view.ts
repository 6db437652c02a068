import { signal } from '@preact/signals'

// In place of ../extra-view.tsx: what it shows needs a server.

export const extraView = signal(undefined)
export const extraLabels = {}
export const Extra = () => null
export function openAgentView(): void {}
export function openCompare(): void {}
export function openPlayground(): void {}
