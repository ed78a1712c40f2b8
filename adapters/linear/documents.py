"""What Linear is asked: constant GraphQL documents. An argument becomes a variable, and never a part of one.

What has a line of its own can be left out without harm to the rest.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document with one operation, of which `root` is the only field."""

    name: str
    root: str
    text: str = field(repr=False)
    is_read: bool = True


MOST_LABELS = 20
"""Of an issue: as many as `_ISSUE` asks for."""
_ISSUE = """
fragment IssueFields on Issue {
  id
  identifier
  title
  url
  priority
  dueDate
  createdAt
  updatedAt
  archivedAt
  state { id name type }
  team { id key name }
  assignee { id name }
  labels(first: 20) { nodes { id name } }
  project { id name }
  cycle { id number name }
}
"""
_PROJECT = """
fragment ProjectFields on Project {
  id
  name
  description
  url
  startDate
  targetDate
  updatedAt
  status { name type }
  lead { id name }
}
"""
_CYCLE = """
fragment CycleFields on Cycle {
  id
  number
  name
  startsAt
  endsAt
  progress
  team { id key name }
}
"""

SEARCH_ISSUES = Document(
    name="SearchIssues",
    root="issues",
    text="""
query SearchIssues($filter: IssueFilter, $first: Int, $after: String) {
  issues(filter: $filter, first: $first, after: $after) {
    nodes { ...IssueFields }
    pageInfo { hasNextPage endCursor }
  }
}
"""
    + _ISSUE,
)
GET_ISSUE = Document(
    name="GetIssue",
    root="issue",
    text="""
query GetIssue($id: String!) {
  issue(id: $id) {
    ...IssueFields
    description
    comments(first: 30) {
      nodes { id body createdAt user { id name } }
      pageInfo { hasNextPage }
    }
  }
}
"""
    + _ISSUE,
)
READ_ISSUE = Document(
    name="ReadIssue",
    root="issue",
    text="""
query ReadIssue($id: String!) {
  issue(id: $id) {
    ...IssueFields
    description
  }
}
"""
    + _ISSUE,
)
READ_COMMENT = Document(
    name="ReadComment",
    root="comment",
    text="""
query ReadComment($id: String!) {
  comment(id: $id) {
    id
    url
    createdAt
    issue { id identifier }
  }
}
""",
)
READ_TEAM = Document(
    name="ReadTeam",
    root="team",
    text="""
query ReadTeam($id: String!) {
  team(id: $id) { id }
}
""",
)
LIST_TEAMS = Document(
    name="ListTeams",
    root="teams",
    text="""
query ListTeams($first: Int, $after: String) {
  teams(first: $first, after: $after) {
    nodes {
      id
      key
      name
      description
      cyclesEnabled
      states(first: 50) { nodes { id name type } }
      labels(first: 50) { nodes { id name } }
      members(first: 50) { nodes { id name email } }
    }
    pageInfo { hasNextPage endCursor }
  }
}
""",
)
LIST_PROJECTS = Document(
    name="ListProjects",
    root="projects",
    text="""
query ListProjects($first: Int, $after: String) {
  projects(first: $first, after: $after) {
    nodes { ...ProjectFields }
    pageInfo { hasNextPage endCursor }
  }
}
"""
    + _PROJECT,
)
LIST_TEAM_PROJECTS = Document(
    name="ListTeamProjects",
    root="team",
    text="""
query ListTeamProjects($team: String!, $first: Int, $after: String) {
  team(id: $team) {
    projects(first: $first, after: $after) {
      nodes { ...ProjectFields }
      pageInfo { hasNextPage endCursor }
    }
  }
}
"""
    + _PROJECT,
)
LIST_CYCLES = Document(
    name="ListCycles",
    root="cycles",
    text="""
query ListCycles($first: Int, $after: String) {
  cycles(first: $first, after: $after) {
    nodes { ...CycleFields }
    pageInfo { hasNextPage endCursor }
  }
}
"""
    + _CYCLE,
)
LIST_TEAM_CYCLES = Document(
    name="ListTeamCycles",
    root="team",
    text="""
query ListTeamCycles($team: String!, $first: Int, $after: String) {
  team(id: $team) {
    cycles(first: $first, after: $after) {
      nodes { ...CycleFields }
      pageInfo { hasNextPage endCursor }
    }
  }
}
"""
    + _CYCLE,
)
CREATE_ISSUE = Document(
    name="CreateIssue",
    root="issueCreate",
    is_read=False,
    text="""
mutation CreateIssue($input: IssueCreateInput!) {
  issueCreate(input: $input) {
    success
    issue { ...IssueFields }
  }
}
"""
    + _ISSUE,
)
UPDATE_ISSUE = Document(
    name="UpdateIssue",
    root="issueUpdate",
    is_read=False,
    text="""
mutation UpdateIssue($id: String!, $input: IssueUpdateInput!) {
  issueUpdate(id: $id, input: $input) {
    success
    issue { ...IssueFields }
  }
}
"""
    + _ISSUE,
)
CREATE_COMMENT = Document(
    name="CreateComment",
    root="commentCreate",
    is_read=False,
    text="""
mutation CreateComment($input: CommentCreateInput!) {
  commentCreate(input: $input) {
    success
    comment {
      id
      url
      createdAt
      issue { id identifier }
    }
  }
}
""",
)
