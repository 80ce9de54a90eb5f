// The parts of the page that are one of several in a place; a new one joins a list here.
import { blocksView } from "./blocks";
import { domainView } from "./domain";
import { Debugger } from "./debugger";
import { el } from "./dom";
import { Editor } from "./editor";
import { evidencePanel } from "./evidence/evidence";
import { graphView } from "./graph";
import { Jobs } from "./jobs";
import { Studio } from "./studio";
import { TryIt } from "./tryit";

// It hears of changes by `studio.on`, and asks handlers by `studio.talk.ask`.
export interface Part {
  name: string; // in addresses
  title: string;
  make(studio: Studio, nonce: string): HTMLElement; // the nonce is for styles that libraries make
}

// Views of the open program.
export const VIEWS: Part[] = [
  { name: "text", title: "Text", make: (studio, nonce) => el("div", { class: "text" }, new Editor(studio, nonce).view.dom) },
  { name: "blocks", title: "Blocks", make: blocksView },
  { name: "graph", title: "Graph", make: graphView },
  { name: "types", title: "Types", make: domainView },
];

// What is done with it, beside the views.
export const PANELS: Part[] = [
  { name: "try", title: "Try it", make: (studio) => new TryIt(studio).element },
  { name: "debug", title: "Debug", make: (studio) => new Debugger(studio).element },
  { name: "evidence", title: "Evidence", make: evidencePanel },
  { name: "jobs", title: "Jobs", make: (studio) => new Jobs(studio).element },
];
